// Archived requests as objects of an S3-compatible bucket.
// Must never name a key of access in an error, nor write over an object where the server can refuse that.
import { openAsBlob } from 'node:fs';
import { Readable } from 'node:stream';
import { AwsClient } from 'aws4fetch';
import { boundedBody } from '../bounds/bounded-response.ts';
import type { ArchiveStore } from './archive-store.ts';
import { newestOf } from './object-name.ts';

export interface BucketOptions {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** Before the names, with a slash at its end; '': none. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** For a request and its answer without a body, and for each piece of a body, milliseconds. Default: 60 000. */
  readonly answerMs?: number;
}

/** Each holds a piece of a request and its compression. */
const AT_ONCE = 4;
const ANSWER_MS = 60_000;
/** The slowest upload that is waited for. */
const LEAST_BYTES_PER_MS = 256;
/** So that no file is an hour old as it is sent: it would pass for one that a dead process has left. */
const MOST_LONGER_MS = 1_800_000;
const PUT_MS = 15_000;
const MOST_ANSWER_BYTES = 1_048_576;
/** Versions of one request, of 1,000 each. */
const MOST_PAGES = 100;
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const KEY = /<Key>(?<key>[^<]{1,1024})<\/Key>/g;

export function createBucketStore(options: BucketOptions): ArchiveStore {
  const { endpoint, bucket, region, prefix, accessKeyId, secretAccessKey, answerMs = ANSWER_MS } = options;
  const signer = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });
  const base = `${endpoint.replace(/\/+$/, '')}/${bucket}`;

  /** Addressed by path: that needs no name of its own for each bucket. */
  async function ask(path: string, sha256: string, init: RequestInit): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), 'x-amz-content-sha256': sha256 };
    const { method = 'GET' } = init;
    // Signed without the body, whose digest is given, so that it is not read for that.
    const signed = await signer.sign(`${base}${path}`, { method, headers });
    const sent = { ...init, method, headers: signed.headers, redirect: 'error' as const };
    return fetch(signed.url, sent).catch(unreached);
  }

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
    place: `the bucket ${bucket} at ${new URL(endpoint).host}`,
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

/** `fetch` has the reason in the cause. */
function unreached(error: Error): never {
  const { cause } = error;
  throw new Error(cause instanceof Error ? cause.message : error.message, { cause: error });
}

async function textOf({ body }: Response): Promise<string> {
  const { bytes } = await boundedBody(body, MOST_ANSWER_BYTES);
  return bytes.toString('utf8');
}

/** The status, and the code of the server, which is one word. */
function refusal({ status }: Response, text: string): Error {
  const code = /<Code>(?<code>\w{1,64})<\/Code>/.exec(text)?.groups?.['code'];
  return new Error(`the server answers ${status}${code === undefined ? '' : ` ${code}`}`);
}
