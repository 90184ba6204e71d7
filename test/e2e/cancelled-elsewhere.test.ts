/** A call is cancelled through one process while another makes it: the worker aborts it, and notifies the MCP server.
 *  It must not look into either process: only the API and the server's own record count. */
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Cancellation } from '../../src/contract/directive/cancellation.ts';
import { auditRequest, outcomes } from '../support/audit.ts';
import { untilHolds } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { follow, post, untilClosed } from '../support/public-api.ts';

test('a cancel reaches the worker that runs the call, and the server it runs on', async () => {
  const diary = join(tmpdir(), `adjutant-diary-${randomUUID()}`);
  const peer = ownServerEntry('legacy-peer.ts', { PEER_LOG: diary });
  await using installation = await install({ config: { mcpServers: { peer } } });
  const [{ url }] = await Promise.all([
    installation.start('api'),
    installation.start('worker'),
    installation.start('worker'),
  ]);
  const calls = ['a', 'b', 'c'].map((id) => ({
    type: 'tool_exec',
    id,
    request_id: 'held',
    tool_name: 'peer.wait',
  }));
  expect((await post(`${url}/v1/directives`, { directives: calls })).status).toBe(202);
  let started = 0;
  for await (const { type } of follow(url, 'held')) {
    if (type === 'ai.tool.started') started += 1;
    if (started === calls.length) break;
  }
  await untilHolds(async () => expect(await entries(diary)).toEqual(['waiting', 'waiting', 'waiting']));

  const one = await post<Cancellation>(`${url}/v1/requests/held/directives/a/cancel`, { reason: 'one' });
  expect(one).toMatchObject({ status: 202, body: { directives: [{ id: 'a', status: 'requested' }] } });
  const rest = await post<Cancellation>(`${url}/v1/requests/held/cancel`, { reason: 'the rest' });
  expect(rest.status).toBe(202);
  await untilClosed(url, 'held');

  const results = await auditRequest(url, 'held', ['a', 'b', 'c']);
  expect(outcomes(results.values())).toEqual({ cancelled: 3 });
  const reasons = [...results].map(([id, { data }]) => [
    id,
    data.result.ok ? null : data.result.error.details,
  ]);
  expect(Object.fromEntries(reasons)).toMatchObject({
    a: { reason: 'one' },
    b: { reason: 'the rest' },
    c: { reason: 'the rest' },
  });
  await untilHolds(async () => {
    const heard = (await entries(diary)).filter((entry) => entry.startsWith('cancelled'));
    expect(heard).toHaveLength(3);
  });
  await rm(diary);
});

async function entries(diary: string): Promise<string[]> {
  return (await readFile(diary, 'utf8')).trim().split('\n');
}
