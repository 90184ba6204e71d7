/** The list of requests, what acts on many of them, and the archive on a real cluster.
 *  It must not rely on an order between slots. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createArchiveClient, createHttpClient } from '../../../src/client/http-client.ts';
import { submittedByTheDead } from '../../support/dying-submitter.ts';
import { eventually } from '../../support/eventually.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { startService } from '../../support/running-service.ts';
import { shared } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const cluster = shared(startCluster);

test('requests are listed, redriven by filter, listed anew and archived as on one Redis', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-cluster-'));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  await using service = await startService({ redisUrl: cluster.url, config: { archive: { folder } } });
  const client = createHttpClient({ baseUrl: service.url });
  const ids = Array.from({ length: 12 }, (_, at) => `r-${at}`);
  const call = { type: 'tool_exec', metadata: { tags: ['all'] }, arguments: { text: 'x' } } as const;
  for (const [at, request_id] of ids.entries())
    await client.execute({ ...call, request_id, id: 'a', tool_name: at < 3 ? 'peer.fail' : 'peer.echo' });
  const failed = async () =>
    (await client.requests({ tag: 'all', status: 'failed' })).requests.map((each) => each.request_id);
  await eventually(failed).toEqual(['r-2', 'r-1', 'r-0']);
  // What is in the list may not have closed in it yet.
  const closed = async () => (await client.requests({ tag: 'all' })).counts.status;
  await eventually(closed).toMatchObject({ failed: 3, succeeded: 9, open: 0 });
  const before = await client.requests({ tag: 'all' });
  expect(before).toMatchObject({ incomplete: false, counts: { total: 12 } });

  const calls = async () =>
    (await client.stats({ by: 'tool' })).series.map(({ name, total }) => [
      name,
      total.succeeded,
      total.failed,
    ]);
  await eventually(calls).toEqual([
    ['peer.echo', 9, 0],
    ['peer.fail', 0, 3],
  ]);

  let step = await client.reindex();
  while (step.next !== null) step = await client.reindex({ cursor: step.next });
  await eventually(async () => (await client.requests({ tag: 'all' })).requests).toEqual(before.requests);
  expect((await client.requests()).incomplete).toBe(false);

  const filter = { tag: 'all' };
  const dry = async () => (await client.redriveAll({ filter, dry_run: true })).found.map(({ id }) => id);
  await eventually(dry).toEqual(['a', 'a', 'a']);
  expect((await client.redriveAll({ filter })).redriven).toHaveLength(3);
  await eventually(dry).toEqual(['a.redrive-1', 'a.redrive-1', 'a.redrive-1']);
  expect(await client.cancelAll({ filter })).toMatchObject({ requests: [], incomplete: false });

  const archive = createArchiveClient({ baseUrl: service.url });
  const kinds = async (id: string): Promise<string[]> => {
    const found = [];
    for await (const { kind } of archive.lines(id)) found.push(kind);
    return found;
  };
  for (const id of ids) await eventually(async () => kinds(id).catch(() => [])).toContain('end');
});

test('what ends as it is accepted and what begins in a year is noted, though whoever accepted it dies', async () => {
  await using open = await openStore(cluster.url);
  const { connection, keys } = open;
  const accepted = await submittedByTheDead(cluster.url, keys.prefix);
  const noted = await connection.zrange(keys.changedRequests, '0', '-1');
  expect(noted).toEqual(expect.arrayContaining(accepted));
});
