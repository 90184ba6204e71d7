/** Closed requests in a folder: each once, whole, and readable after it has expired.
 *  It must not depend on how long anything takes. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createArchivedReads } from '../../../../src/features/archive/archived-reads.ts';
import { createArchiver, type ArchiveReports } from '../../../../src/features/archive/archiver.ts';
import type { ArchiveStore } from '../../../../src/features/archive/archive-store.ts';
import { createBucketStore } from '../../../../src/features/archive/bucket-store.ts';
import { createFolderStore } from '../../../../src/features/archive/folder-store.ts';
import { folderOf } from '../../../../src/features/archive/object-name.ts';
import { removeOld, withSpooled } from '../../../../src/features/archive/spool.ts';
import { createTimeLimit } from '../../../../src/features/archive/time-limit.ts';
import {
  createAccessClient,
  createArchiveClient,
  createHttpClient,
} from '../../../../src/client/http-client.ts';
import type { ArchiveLine } from '../../../../src/contract/request/archive.ts';
import { examinePayloads } from '../../../../src/cli/doctor/payloads.ts';
import { examineArchive } from '../../../../src/cli/doctor/archive.ts';
import { createArchiveQueue } from '../../../../src/store/index/archive-queue.ts';
import { createJournal } from '../../../../src/store/request/journal.ts';
import { scopedId } from '../../../../src/contract/access/tenant.ts';
import { keySpace } from '../../../../src/store/keys.ts';
import { createPayloadStore } from '../../../../src/store/request/payload-store.ts';
import { eventually } from '../../../support/eventually.ts';
import { runCommand } from '../../../support/command.ts';
import { planOf, startPlannedModel } from '../../../support/planned-model.ts';
import { refusal } from '../../../support/pipeline.ts';
import { freePort } from '../../../support/process.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const redis = useRedis();
const place = shared(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-archive-'));
  return { folder, [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true }) };
});
const model = shared(startPlannedModel);
const service = shared(async () => {
  const config = {
    archive: { folder: place.folder },
    providers: { mock: { type: 'openai-compatible', base_url: model.url } },
    agents: { helper: { model: 'mock:m', stream: false } },
  };
  return startService({ redisUrl: redis.url, config });
});

const CLOSED = { type: 'emit_tool_error', tool_name: 'a.b', error: 'x' } as const;

const REFUSAL = { problem: { status: 404, code: 'not_found' } };

async function linesOf(
  requestId: string,
  how: { baseUrl: string; apiKey?: string } = { baseUrl: service.url },
): Promise<ArchiveLine[]> {
  const lines = [];
  for await (const line of createArchiveClient(how).lines(requestId)) lines.push(line);
  return lines;
}

const kindsOf = (lines: readonly ArchiveLine[]): string[] => lines.map(({ kind }) => kind);

async function namesOf(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** As after its retention. */
async function forget(requestId: string): Promise<void> {
  const connection = new Redis(redis.url);
  for (const name of keySpace(service.prefix).request(requestId)) await connection.del(name);
  connection.disconnect();
}

describe('a closed request', () => {
  test('is read back whole after Redis has forgotten it, with secrets hidden', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    const request_id = `whole-${randomUUID()}`;
    const args = { text: 'hello', api_key: 'SECRET-1' };
    await client.execute({
      type: 'tool_exec',
      tool_name: 'peer.echo',
      request_id,
      id: 'one',
      arguments: args,
    });
    await eventually(async () => linesOf(request_id).then(kindsOf, () => [])).toContain('end');
    const before = await client.page(request_id);
    const view = await client.request(request_id);
    const directive = await client.directive(request_id, 'one');
    await forget(request_id);
    // Issue 35, point 20: an archived request of the list is opened by the same reads.
    const { descendants: _none, ...same } = view ?? {};
    expect(await client.request(request_id)).toEqual({ ...same, archived: true });
    expect(await client.page(request_id)).toEqual(before);
    const followed: unknown[] = [];
    for await (const signal of client.signals(request_id, { after: 1 })) followed.push(signal);
    expect(followed).toEqual(before.signals.slice(1));
    expect(await client.directive(request_id, 'one')).toMatchObject({
      status: 'succeeded',
      directive: { arguments: { text: 'hello', api_key: '[REDACTED]' } },
      result: directive?.result,
    });
    expect(await client.directive(request_id, 'two')).toBeNull();
    expect(await client.payload(request_id, 'one')).toBeDefined();
    expect(await client.trace(request_id)).toMatchObject({
      status: 'closed',
      directives: [{ id: 'one', name: 'peer.echo', attempts: [], attempts_left_out: 1 }],
    });
    expect((await runCommand(['trace', request_id], service.url)).stdout).toContain('peer.echo');
    expect((await runCommand(['get', request_id], service.url)).stdout).toContain('closed, archived');
    // Issue 35, point 3: a directive that only the archive holds is not redriven, and the answer says how it is repeated.
    const named = [
      { request_id, id: 'one' },
      { request_id: 'unheard-of', id: 'one' },
    ];
    expect(await client.redrive({ directives: named })).toMatchObject({
      redriven: [],
      not_found: [named[1]],
      refused: [{ from: named[0], detail: expect.stringContaining(`\`adjutant again ${request_id}\``) }],
    });
    expect((await refusal(client.again(request_id))).errors).toMatchObject([
      { message: expect.stringContaining('hides secrets') },
    ]);
    const again = await client.again(request_id, { arguments: { text: 'anew' } });
    expect(again.origin).toEqual({ request_id, kind: 'again' });
    const lines = await linesOf(request_id);
    expect(lines[0]).toMatchObject({ kind: 'request', tenant: 'default', request_id, run: null });
    expect(lines[1]).toMatchObject({ kind: 'directive', directive: { id: 'one' } });
    expect(lines.flatMap((line) => (line.kind === 'signal' ? [line.signal] : []))).toEqual(before.signals);
    expect(lines.at(-1)).toEqual({ kind: 'end', lines: lines.length - 1 });
    expect(JSON.stringify(lines[1])).toContain('[REDACTED]');
    expect(JSON.stringify(lines[1])).not.toContain('SECRET-1');
    const { stdout } = await runCommand(['get', request_id, '--archive'], service.url);
    expect(stdout).toContain(`${request_id} closed`);
  });

  test('that ended as it was accepted is archived too, and once more when it closed again', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    // The id is a step in a path, and longer than a name may be.
    const request_id = `..${'.a:'.repeat(40)}`;
    await client.submit({ ...CLOSED, request_id, id: 'one' });
    await eventually(async () => linesOf(request_id).then(kindsOf, () => [])).toContain('end');
    await client.submit({ ...CLOSED, request_id, id: 'two' });
    const ids = async () =>
      (await linesOf(request_id)).flatMap((line) =>
        line.kind === 'directive' ? [line.directive['id']] : [],
      );
    await eventually(ids).toEqual(['one', 'two']);
    const files = (await namesOf(place.folder)).filter((name) => name.includes(folderOf(request_id)));
    expect(files).toHaveLength(2);
    expect((await stat(files[0] ?? '')).mode & 0o077).toBe(0);
    // As other programs read it.
    const text = gunzipSync(await readFile(files[1] ?? '')).toString();
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as ArchiveLine).kind)
        .at(-1),
    ).toBe('end');
  });

  test('that has not closed is said to be open', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    const request_id = `open-${randomUUID()}`;
    const wait = { type: 'tool_exec', tool_name: 'peer.wait', arguments: {} } as const;
    await client.submit({ ...wait, request_id, id: 'one' });
    const { stderr, code } = await runCommand(['get', request_id, '--archive'], service.url);
    expect(stderr).toContain(`${request_id} is still open`);
    expect(stderr).toContain('shows it as it is now');
    expect(code).toBe(1);
    await client.cancel(request_id);
    const listed = await runCommand(['requests', '--error-type', 'tiemout'], service.url);
    expect(listed.stderr).toContain('no request matches');
    const unnamed = await runCommand(['requests', 'cancel'], service.url);
    expect(unnamed.stderr).toContain('or --all for every request');
    expect(unnamed.code).toBe(2);
    const conversation = ['--conversation', 'nobody'];
    const nothing = await runCommand(['requests', 'cancel', ...conversation, '--dry-run'], service.url);
    expect(nothing.stderr).toContain('nothing to cancel');
  });

  test('with a run has the run as it ended, and what it said', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    const request_id = `run-${randomUUID()}`;
    await client.runs.start({ agent: 'helper', query: planOf('archived'), request_id });
    await eventually(async () => linesOf(request_id).then(kindsOf, () => [])).toContain('end');
    const [first] = await linesOf(request_id);
    expect(first).toMatchObject({ kind: 'request', run: { agent: 'helper', status: 'completed' } });
    expect(JSON.stringify(first)).toContain('did archived');
  });

  test('is run again and forked from its archive, and is not resumed', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    const request_id = `gone-${randomUUID()}`;
    const { result } = await client.runs.run({ agent: 'helper', query: planOf('archived'), request_id });
    await eventually(async () => linesOf(request_id).then(kindsOf, () => [])).toContain('end');
    await forget(request_id);
    expect((await client.request(request_id))?.run).toMatchObject({ status: 'completed', result });
    expect(await refusal(client.runs.resume(request_id))).toMatchObject({
      code: 'not_resumable',
      detail: expect.stringContaining('is archived'),
    });
    for (const { request_id: other } of [
      await client.again(request_id),
      await client.fork(request_id, { at: 1 }),
    ])
      await eventually(async () => (await client.request(other))?.run?.result).toBe(result);
  });

  // Each unknown id is a listing of the bucket, which one tenant could keep from all others.
  test('is found while another tenant asks for very many unknown ones', async () => {
    const listed = Promise.withResolvers<null>();
    const find = createArchivedReads(async () => listed.promise, { pageOf: () => '' });
    const asked = Array.from({ length: 40 }, async (_, at) => find(scopedId('acme', `unknown-${at}`)));
    const refused = asked.map(async (each) => each.then(() => false).catch(() => true));
    const other = find(scopedId('globex', 'r'));
    listed.resolve(null);
    expect(await other).toBeNull();
    expect((await Promise.all(refused)).filter(Boolean)).toHaveLength(24);
  });

  test('that the archive does not hold, or of another tenant, is not found', async () => {
    await expect(linesOf('never')).rejects.toMatchObject(REFUSAL);
    const adminKey = randomBytes(32).toString('hex');
    const own = { roles: { api: true }, environment: { ADJUTANT_ADMIN_KEY: adminKey } };
    const config = { archive: { folder: place.folder } };
    await using keyed = await startService({ redisUrl: redis.url, config, ...own });
    const admin = createAccessClient({ baseUrl: keyed.url, apiKey: adminKey });
    const { key } = await admin.create({ name: 'acme', tenant: 'acme', scopes: ['submit', 'read'] });
    const request_id = `ours-${randomUUID()}`;
    const how = { baseUrl: keyed.url, apiKey: key };
    await createHttpClient(how).submit({ ...CLOSED, request_id, id: 'one' });
    await eventually(async () => linesOf(request_id, how).then(kindsOf, () => [])).toContain('end');
    const [first] = await linesOf(request_id, how);
    expect(first).toMatchObject({ tenant: 'acme', request_id });
    await expect(linesOf(request_id, { ...how, apiKey: adminKey })).rejects.toMatchObject(REFUSAL);
    expect((await namesOf(join(place.folder, 'acme'))).length).toBe(1);
  });
});

/** An archiver that the test calls, over requests that end as they are accepted. */
async function installation(store: (folder: string) => ArchiveStore = createFolderStore) {
  const connection = new Redis(redis.url);
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-archive-'));
  onTestFinished(async () => {
    connection.disconnect();
    await rm(folder, { recursive: true, force: true });
  });
  const keys = keySpace(`t-${randomUUID()}`);
  const queue = createArchiveQueue(connection, keys, { retentionMs: 86_400_000 });
  const journal = createJournal({ connection, keys, retentionMs: 60_000, noteEnded: queue.note });
  const payloads = createPayloadStore({ connection, keys });
  const seen: string[] = [];
  const reports: ArchiveReports = {
    archived: () => seen.push('archived'),
    failed: (_id, { message }) => seen.push(`failed ${message}`),
    works: () => seen.push('works'),
    lost: (id) => seen.push(`lost ${id}`),
    error: (error) => seen.push(error.message),
  };
  const kept: string[] = [];
  const archiver = (
    own = store(folder),
    of = queue,
    onRead = async () => {},
    requestMs?: number,
    more = {},
  ) =>
    createArchiver({
      ...more,
      ...(requestMs === undefined ? {} : { requestMs }),
      queue: of,
      store: own,
      source: { journal, payloads, run: async () => onRead().then(() => null) },
      longestMs: () => 660_000,
      onKept: (id) => kept.push(id),
      reports,
    });
  return { connection, folder, keys, queue, journal, seen, kept, archiver };
}

type Installation = Awaited<ReturnType<typeof installation>>;

async function close({ journal }: Installation, requestId: string, id = 'one'): Promise<void> {
  const directive = { ...CLOSED, request_id: requestId, id };
  const envelope = JSON.stringify({ directive: CLOSED, lane: null, traceparent: '' });
  const signal = {
    specversion: '1.0', id: randomUUID(), source: 'test', type: 'ai.tool.result', subject: requestId,
    time: new Date().toISOString(), datacontenttype: 'application/json', causationid: id, traceparent: '',
    data: { call_id: id },
  }; // prettier-ignore
  const end = { status: 'failed' as const, signal: signal as never };
  await journal.accept(requestId, [
    { id, type: directive.type, digest: 'd', lane: null, deadlineMs: 1_000, envelope, end },
  ]);
}

describe('an archiver', () => {
  test('that dies between storing and noting it leaves one file', async () => {
    const at = await installation();
    await close(at, 'twice');
    await at.archiver(undefined, { ...at.queue, done: async () => {} }).round();
    const [first] = await namesOf(at.folder);
    // What a dead one had taken is due again when its time is over.
    await at.connection.zadd(at.keys.archive, 0, 'twice');
    await at.archiver().round();
    expect(await namesOf(at.folder)).toEqual([first]);
    expect(at.seen).toEqual(['archived']);
    expect(await at.queue.size()).toBe(0);
  });

  test('that comes between the note of a request and the request looks once more', async () => {
    const at = await installation();
    const { connection, keys, queue } = at;
    await queue.note(['late', 'refused'], 'perhaps');
    await at.archiver().round();
    const score = Number(await connection.zscore(keys.archive, 'late'));
    expect([await queue.size(), score % 1]).toEqual([2, 0.75]);
    await close({ ...at, journal: createJournal({ connection, keys, retentionMs: 60_000 }) }, 'late');
    for (const requestId of ['late', 'refused']) await connection.zadd(keys.archive, score % 1, requestId);
    await at.archiver().round();
    expect([at.seen, await queue.size()]).toEqual([['archived'], 0]);
  });

  test('stores nothing of a request that is opened as it is read', async () => {
    const at = await installation();
    await close(at, 'mixed');
    await at.archiver(undefined, undefined, async () => close(at, 'mixed', 'two')).round();
    expect(await namesOf(at.folder)).toEqual([]);
    await at.archiver().round();
    expect(await namesOf(at.folder)).toHaveLength(1);
  });

  test('leaves a request that is open, and what is opened while it is read', async () => {
    const at = await installation();
    await close(at, 'again');
    const store = createFolderStore(at.folder);
    const reopening = {
      ...store,
      put: async (...args: Parameters<ArchiveStore['put']>) => {
        await close(at, 'again', 'two');
        return store.put(...args);
      },
    };
    await at.archiver(reopening).round();
    // It was noted again meanwhile, so it stays.
    expect(await at.queue.size()).toBe(1);
    await at.archiver().round();
    expect(await namesOf(at.folder)).toHaveLength(2);
    expect(await at.queue.size()).toBe(0);
  });

  test('keeps what it cannot store for longer, tries again, and loses nothing', async () => {
    const at = await installation();
    await close(at, 'first');
    await close(at, 'second');
    await close(at, 'third');
    const away: ArchiveStore = {
      ...createFolderStore(at.folder),
      put: async () => Promise.reject(new Error('the server answers 503')),
    };
    const broken = at.archiver(away);
    await broken.round();
    expect(at.seen).toEqual([
      'failed the server answers 503',
      'failed the server answers 503',
      'failed waits until another request could be archived',
    ]);
    for (const requestId of ['first', 'second', 'third']) {
      const [state, bodies, log] = at.keys.request(requestId);
      for (const name of [state, bodies, log])
        expect(await at.connection.pttl(name), name).toBeGreaterThan(600_000);
    }
    expect(at.kept).toEqual(['first', 'second', 'third']);
    // Spooled files are gone with their attempt.
    expect(await namesOf(at.folder)).toEqual([]);
    await at.connection.zadd(at.keys.archive, 0.25, 'first', 0.25, 'second', 0.25, 'third');
    await at.connection.del(...at.keys.request('second'));
    await at.archiver().round();
    expect(at.seen.slice(3).toSorted()).toEqual(['archived', 'archived', 'lost second']);
    expect(await namesOf(at.folder)).toHaveLength(2);
  });

  test('stores each use of an id, and the newest is the one that was created last', async () => {
    const at = await installation();
    await close(at, 'nightly');
    await close(at, 'nightly', 'two');
    await at.archiver().round();
    await at.connection.del(...at.keys.request('nightly'));
    await close(at, 'nightly', 'three');
    await at.archiver().round();
    const store = createFolderStore(at.folder);
    const newest = await store.newest(folderOf('nightly'));
    expect(gunzipSync(await buffer(newest ?? Readable.from([]))).toString()).toContain('three');
    await at.connection.del(...at.keys.request('nightly'));
    await close(at, 'nightly', 'four');
    await at.archiver().round();
    expect(await namesOf(at.folder)).toHaveLength(3);
    expect(at.seen).toEqual(['archived', 'archived', 'archived']);
  });

  test('reports what is gone before it was stored, and not what was stored', async () => {
    const at = await installation();
    await close(at, 'early');
    await close(at, 'stored');
    await at.archiver(undefined, { ...at.queue, done: async () => {} }).round();
    await close(at, 'early-too');
    const store = createFolderStore(at.folder);
    const late = at.archiver(store, undefined, async () => {
      await at.connection.del(...at.keys.request('early-too'));
    });
    await late.round();
    expect(at.seen).toEqual(['archived', 'archived', 'lost early-too']);
    await at.queue.note(['never', 'stored']);
    await at.connection.del(...at.keys.request('stored'));
    await at.archiver().round();
    expect(at.seen.slice(3)).toEqual(['lost never']);
  });

  test('is not held up by one request that never can be stored', async () => {
    const at = await installation();
    for (const requestId of ['a', 'b', 'c']) await close(at, requestId);
    await at.connection.hset(at.keys.request('a')[1], 'one', 'damaged');
    await at.archiver().round();
    expect(at.seen).toEqual([expect.stringContaining('failed'), 'archived', 'archived']);
    expect(await at.queue.size()).toBe(1);
  });

  test('does not give an open request an end', async () => {
    const at = await installation();
    await at.connection.hset(at.keys.request('open')[0], 'status', 'open');
    await at.queue.keep('open', 1_000);
    expect(await at.connection.pttl(at.keys.request('open')[0])).toBe(-1);
  });

  test('has a place that the doctor can name as missing, with how to fix it', async () => {
    const at = await installation();
    const folders = { folder: at.folder, listed_ms: 0, hold_ms: 0, after_ms: 0, region: '', prefix: '' };
    const archive = { ...folders, folder: join(at.folder, 'unmounted') };
    const [found] = await examineArchive({ archive: folders, directory: '/' });
    expect(found).toMatchObject({ subject: 'archive', ok: true });
    const [missing] = await examineArchive({ archive, directory: '/' });
    expect(missing).toMatchObject({ ok: false, says: expect.stringContaining('ENOENT') as string });
    const payloads = { folder: at.folder, region: '', prefix: '', offload_above_bytes: 32_768 };
    const place = { payloads, directory: '/', prefix: 'p' };
    expect(await examinePayloads(place)).toMatchObject([{ subject: 'payloads', ok: true }]);
    const unmounted = { ...place, payloads: { ...payloads, folder: archive.folder } };
    expect(await examinePayloads(unmounted)).toMatchObject([
      { ok: false, says: expect.stringContaining('ENOENT') as string },
    ]);
    const keys = { access_key_id: 'ACCESS', secret_access_key: 'SECRET-2' };
    const bucket = {
      ...folders,
      folder: undefined,
      bucket: 'b',
      endpoint: `http://127.0.0.1:${await freePort()}`,
      region: 'r',
      ...keys,
    };
    const [away] = await examineArchive({ archive: bucket, directory: '/' });
    expect(away).toMatchObject({ ok: false, says: expect.stringContaining('ECONNREFUSED') as string });
    expect(JSON.stringify(away)).not.toMatch(/ACCESS|SECRET/);
  });

  test('does not wait for ever for a bucket that takes, or sends, nothing more', async () => {
    const at = await installation();
    await close(at, 'hangs');
    const list = `<Key>x/${folderOf('hangs')}2026-11-22.1.1.jsonl.gz</Key>`;
    const server = createServer(({ method, url = '' }, response) => {
      if (url.includes('list-type')) response.end(list);
      else if (method === 'GET') response.write('first');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const keys = { accessKeyId: 'a', secretAccessKey: 'b', region: 'r', prefix: 'x/' };
    const bucket = createBucketStore({ endpoint, bucket: 'b', ...keys, answerMs: 300 });
    const pieces: string[] = [];
    const read = async () => {
      for await (const piece of (await bucket.newest(folderOf('hangs'))) ?? []) pieces.push(String(piece));
    };
    await expect(read()).rejects.toThrow('the server sends nothing more');
    expect(pieces).toEqual(['first']);
    await at.archiver({ ...bucket, spoolFolder: at.folder }).round();
    expect(at.seen).toEqual([expect.stringMatching(/^failed .*(abort|timeout)/)]);
  });

  test('does not wait for ever for a place that hangs: the others have their turn, and no more is tried', async () => {
    const at = await installation();
    for (const requestId of ['a', 'b', 'c']) await close(at, requestId);
    const back = Promise.withResolvers<'stored'>();
    const tried: string[] = [];
    const hangs: ArchiveStore = {
      ...createFolderStore(at.folder),
      put: async (folder) => {
        tried.push(folder);
        return back.promise;
      },
    };
    // Longer than a busy machine takes to get there.
    const archiver = at.archiver(hangs, undefined, undefined, 600);
    await archiver.round();
    const says = (id: string): unknown =>
      expect.stringMatching(`failed the folder ${at.folder}, with ${folderOf(id)}, has had no answer`);
    expect(at.seen).toEqual([says('a'), says('b'), 'failed waits until another request could be archived']);
    await at.connection.zadd(at.keys.archive, 0.25, 'a', 0.25, 'b', 0.25, 'c');
    await at.archiver().round();
    expect(at.seen.slice(3)).toEqual(['archived', 'archived', 'archived']);
    expect(tried).toHaveLength(2);
    back.resolve('stored');
  });

  test('gives a large object the time that a slow line takes, and keeps it from others meanwhile', async () => {
    const inTime = createTimeLimit(100);
    const slow = inTime('it', async (limit, moved) => {
      moved(60_000);
      await once(AbortSignal.timeout(300), 'abort');
      return limit.aborted;
    });
    await expect(slow).resolves.toBe(false);
    const at = await installation();
    await close(at, 'large');
    const held: number[] = [];
    const store: ArchiveStore = {
      ...createFolderStore(at.folder),
      longerMs: () => 250_000,
      async put() {
        held.push(Number(await at.connection.zscore(at.keys.archive, 'large')) - Date.now());
        return 'stored';
      },
    };
    await at.archiver(store).round();
    expect(held[0]).toBeGreaterThan(250_000);
    expect(at.seen).toEqual(['archived']);
    expect(await at.queue.size()).toBe(0);
    const keys = { accessKeyId: 'a', secretAccessKey: 'b', region: 'r', prefix: 'x/' };
    const bucket = createBucketStore({ endpoint: 'http://127.0.0.1:1', bucket: 'b', ...keys });
    expect(bucket.longerMs(64 * 1_048_576)).toBeGreaterThan(250_000);
  });

  test('has no folder for files of a bucket that others may have made, and removes those of dead ones', async () => {
    const { folder: temporary } = await installation();
    const old = join(temporary, 'adjutant-spool-x');
    const others = ['else', 'adjutant-spool-link'].map((name) => join(temporary, name));
    await mkdir(old);
    await mkdir(others[0] ?? '');
    await writeFile(join(old, 'x.spool'), 'x');
    await symlink(others[0] ?? '', others[1] ?? '');
    await utimes(old, 0, 0);
    await utimes(others[0] ?? '', 0, 0);
    await removeOld(null, Date.now(), temporary);
    expect((await readdir(temporary)).toSorted()).toEqual(['adjutant-spool-link', 'else']);
    const lines = (async function* () {
      yield 'x';
    })();
    const at = await withSpooled(null, lines, AbortSignal.timeout(5_000), async ({ path }) => {
      expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
      return path;
    });
    await expect(stat(dirname(at))).rejects.toThrow('ENOENT');
  });

  test('fails where its folder is not there, and removes what dead ones left', async () => {
    const at = await installation();
    await close(at, 'one');
    await at.archiver(createFolderStore(join(at.folder, 'unmounted'))).round();
    expect(at.seen.join()).toMatch(/failed ENOENT/);
    const left = join(at.folder, '.incoming', 'x.spool');
    await mkdir(join(at.folder, '.incoming'));
    await writeFile(left, 'x');
    await utimes(left, 0, 0);
    const archiver = at.archiver(undefined, undefined, undefined, undefined, {
      intervalMs: 20,
      spoolLookMs: 0,
    });
    await archiver.start();
    await eventually(async () => namesOf(at.folder)).not.toContain(left);
    // Nor does what was not old yet as this one started stay for ever.
    await writeFile(left, 'x');
    await utimes(left, 0, 0);
    await eventually(async () => namesOf(at.folder)).not.toContain(left);
    await archiver.stop();
  });
});
