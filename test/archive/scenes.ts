/** What an archive in a bucket has to do, on a real server.
 *  It must not know which server it is, beyond what that keeps and checks. */
import { deepStrictEqual, match, rejects, strictEqual } from 'node:assert';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createBucketStore } from '../../src/features/archive/bucket-store.ts';
import { createArchiveClient, createHttpClient } from '../../src/client/http-client.ts';
import type { ArchiveLine } from '../../src/contract/request/archive.ts';
import { startService } from '../support/running-service.ts';
import { BUCKET, type BucketServer, REGION } from './bucket-servers.ts';

export interface Scene {
  readonly server: BucketServer;
  readonly redisUrl: string;
}

const LONGEST_MS = 60_000;
const REQUESTS = 60;
const PREFIX = 'tests/';

function storeOf(server: BucketServer, secret = server.secretAccessKey) {
  const { endpoint, accessKeyId } = server;
  const keys = { accessKeyId, secretAccessKey: secret };
  return createBucketStore({ endpoint, bucket: BUCKET, region: REGION, prefix: PREFIX, ...keys });
}

async function withFile<T>(
  content: string,
  use: (file: { path: string; bytes: number; sha256: string }) => Promise<T>,
) {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-scene-'));
  const path = join(folder, 'x');
  await writeFile(path, content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return use({ path, bytes: content.length, sha256 }).finally(() => void rm(folder, { recursive: true }));
}

/** A name is stored once; the newest of several is found. */
async function storedOnce({ server }: Scene): Promise<void> {
  const store = storeOf(server);
  const { signal } = new AbortController();
  const folder = `default/aa/${randomUUID()}/`;
  const names = ['2026-11-22.000000000002.jsonl.gz', '2026-11-23.000000000011.jsonl.gz'];
  strictEqual(await store.newest(folder), null);
  for (const name of names) {
    const content = `content of ${name}`;
    strictEqual(await withFile(content, async (file) => store.put(folder, name, file, signal)), 'stored');
    strictEqual(await withFile('other', async (file) => store.put(folder, name, file, signal)), 'present');
  }
  const newest = await store.newest(folder);
  strictEqual(newest && (await text(newest)), `content of ${names[1]}`);
}

/** A wrong secret, and a body that is not what was signed, are refused, and the error names neither key. */
async function refused({ server }: Scene): Promise<void> {
  const { signal } = new AbortController();
  const put = async (store: ReturnType<typeof storeOf>, sha256?: string) =>
    withFile('x', async (file) =>
      store.put('default/bb/x/', '2026-11-22.1.jsonl.gz', { ...file, ...(sha256 ? { sha256 } : {}) }, signal),
    );
  await rejects(put(storeOf(server, 'wrong-secret')), (error: Error) => {
    match(error.message, /^the server answers 403 SignatureDoesNotMatch$/);
    return true;
  });
  await rejects(put(storeOf(server), '0'.repeat(64)), /the server answers 4\d\d/);
}

async function linesOf(url: string, requestId: string): Promise<ArchiveLine[]> {
  const lines = [];
  for await (const line of createArchiveClient({ baseUrl: url }).lines(requestId)) lines.push(line);
  return lines;
}

async function untilArchived(url: string, requestId: string): Promise<ArchiveLine[]> {
  const until = performance.now() + LONGEST_MS;
  for (;;) {
    const found = await linesOf(url, requestId).catch((error: Error) => error);
    if (Array.isArray(found)) return found;
    if (performance.now() > until) throw new Error(`${requestId} is not archived: ${found.message}`);
    await new Promise((resolved) => setTimeout(resolved, 100));
  }
}

function configOf({ endpoint, accessKeyId, secretAccessKey }: BucketServer) {
  const keys = { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  return { archive: { bucket: BUCKET, endpoint, region: REGION, prefix: PREFIX, ...keys } };
}

const CLOSED = { type: 'emit_tool_error', tool_name: 'a.b', error: 'x' } as const;

/** Every request of a service is in the bucket, whole. */
async function wholeRequests({ server, redisUrl }: Scene): Promise<void> {
  await using service = await startService({ redisUrl, config: configOf(server) });
  const client = createHttpClient({ baseUrl: service.url });
  const ids = ['..', '.', `a:b.${'x'.repeat(100)}`, ...Array.from({ length: REQUESTS }, () => randomUUID())];
  for (const request_id of ids) await client.submit({ ...CLOSED, request_id, id: 'one' });
  const called = randomUUID();
  await client.execute({
    type: 'tool_exec',
    tool_name: 'peer.echo',
    arguments: { text: 'x' },
    request_id: called,
  });
  // An id that is a step of a path has no URL of its own.
  for (const requestId of [...ids.slice(2), called]) {
    const lines = await untilArchived(service.url, requestId);
    const { signals } = await client.page(requestId);
    deepStrictEqual(
      lines.flatMap((line) => (line.kind === 'signal' ? [line.signal] : [])),
      signals,
    );
    deepStrictEqual(lines.at(-1), { kind: 'end', lines: lines.length - 1 });
  }
}

/** What closes while the server is away is archived when it is back. */
async function serverAway({ server, redisUrl }: Scene): Promise<void> {
  await using service = await startService({ redisUrl, config: configOf(server) });
  const client = createHttpClient({ baseUrl: service.url });
  await server.kill();
  const ids = Array.from({ length: 5 }, () => randomUUID());
  for (const request_id of ids) await client.submit({ ...CLOSED, request_id, id: 'one' });
  await rejects(linesOf(service.url, ids[0] ?? ''), /archive cannot be read/);
  await server.restart();
  for (const requestId of ids) strictEqual((await untilArchived(service.url, requestId)).at(-1)?.kind, 'end');
}

interface NamedScene {
  readonly play: (scene: Scene) => Promise<void>;
  /** A server that does not check signatures has nothing to show. */
  readonly needsSignatures?: true;
}

export const SCENES: Readonly<Record<string, NamedScene>> = {
  'a name is stored once, the newest version is found': { play: storedOnce },
  'a wrong secret and a changed body are refused': { play: refused, needsSignatures: true },
  'every closed request is there, whole': { play: wholeRequests },
  'what closes while the server is away is archived later': { play: serverAway },
};
