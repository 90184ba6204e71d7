// Archived requests as objects of an S3-compatible bucket.
// Must never name a key of access in an error, nor write over an object where the server can refuse that.
import { openAsBlob } from 'node:fs';
import { Readable } from 'node:stream';
import type { ArchiveStore } from './archive-store.ts';
import {
  type BucketOptions,
  bucketPlace,
  createBucketRequests,
  EMPTY_SHA256,
  refusal,
  textOf,
} from './bucket-requests.ts';
import { newestOf } from './object-name.ts';

/** Each holds a part of a request and its compression. */
const AT_ONCE = 4;
const ANSWER_MS = 60_000;
/** The slowest upload that is waited for. */
const LEAST_BYTES_PER_MS = 256;
/** So that no file is an hour old as it is sent: it would pass for one that a dead process has left. */
const MOST_LONGER_MS = 1_800_000;
const PUT_MS = 15_000;
/** Versions of one request, of 1,000 each. */
const MOST_PAGES = 100;
const KEY = /<Key>(?<key>[^<]{1,1024})<\/Key>/g;

export function createBucketStore(options: BucketOptions): ArchiveStore {
  const { prefix, answerMs = ANSWER_MS } = options;
  const ask = createBucketRequests(options);

  async function namesIn(folder: string): Promise<string[]> {
    const names: string[] = [];
    let after = '';
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const query = new URLSearchParams({ 'list-type': '2', prefix: prefix + folder });
      if (after !== '') query.set('start-after', after);
      const response = await ask(`?${query.toString()}`, EMPTY_SHA256, within(answerMs));
      const text = await textOf(response);
      if (!response.ok) throw refusal(response, text);
      const keys = [...text.matchAll(KEY)].map(({ groups }) => groups?.['key'] ?? '');
      names.push(...keys.map((key) => key.slice(prefix.length + folder.length)));
      after = keys.at(-1) ?? '';
      if (after === '' || !text.includes('<IsTruncated>true</IsTruncated>')) break;
    }
    return names;
  }

  const newestName = async (folder: string): Promise<string | null> => newestOf(await namesIn(folder));

  const longerMs = (bytes: number): number => Math.min(Math.ceil(bytes / LEAST_BYTES_PER_MS), MOST_LONGER_MS);

  return {
    place: bucketPlace(options),
    spoolFolder: null,
    atOnce: AT_ONCE,
    async check() {
      await namesIn('check/');
    },
    longerMs,
    async put(folder, name, { path, bytes, sha256 }, stop) {
      const mostMs = Math.min(answerMs, PUT_MS) + longerMs(bytes);
      const signal = AbortSignal.any([stop, AbortSignal.timeout(mostMs)]);
      const headers = { 'if-none-match': '*', 'content-type': 'application/gzip' };
      const body = await openAsBlob(path);
      const init = { method: 'PUT', headers, body, signal };
      const response = await ask(`/${prefix}${folder}${name}`, sha256, init);
      const text = await textOf(response);
      if (response.status === 412) return 'present';
      if (!response.ok) throw refusal(response, text);
      return 'stored';
    },
    newestName,
    async newest(folder) {
      const name = await newestName(folder);
      if (name === null) return null;
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), answerMs);
      const init = { signal: limit.signal };
      const response = await ask(`/${prefix}${folder}${name}`, EMPTY_SHA256, init).finally(() => {
        clearTimeout(timer);
      });
      if (!response.ok || response.body === null) throw refusal(response, await textOf(response));
      return Readable.from(piecesOf(response.body, limit, answerMs), { objectMode: false });
    },
  };
}

/** However long all of them take: who reads may be slow, and an object large. */
async function* piecesOf(
  body: ReadableStream<Uint8Array>,
  limit: AbortController,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const timer = setTimeout(() => limit.abort(new Error('the server sends nothing more')), idleMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      yield value;
    }
  } finally {
    limit.abort();
  }
}

function within(ms: number): RequestInit {
  return { signal: AbortSignal.timeout(ms) };
}
