// Signed requests to a bucket of an S3-compatible store.
// Must never name a key of access in an error, nor follow a redirect.
import { AwsClient } from 'aws4fetch';
import { boundedBody } from '../../platform/bounds/bounded-response.ts';

export interface BucketOptions {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** Before the names, with a slash at its end; '': none. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** For a request and its answer without a body, and for each part of a body, milliseconds. Default: as its user says. */
  readonly answerMs?: number;
}

/** For log lines. */
export function bucketPlace({ bucket, endpoint }: BucketOptions): string {
  return `the bucket ${bucket} at ${new URL(endpoint).host}`;
}

const MOST_ANSWER_BYTES = 1_048_576;
export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** `path`: from the bucket on. `sha256`: of the body, hex. */
export type AskBucket = (path: string, sha256: string, init: RequestInit) => Promise<Response>;

export function createBucketRequests(options: BucketOptions): AskBucket {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = options;
  const signer = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });
  const base = `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  /** Addressed by path: that needs no name of its own for each bucket. */
  return async (path, sha256, init) => {
    const headers = { ...(init.headers as Record<string, string>), 'x-amz-content-sha256': sha256 };
    const { method = 'GET' } = init;
    // Signed without the body, whose digest is given, so that it is not read for that.
    const signed = await signer.sign(`${base}${path}`, { method, headers });
    const sent = { ...init, method, headers: signed.headers, redirect: 'error' as const };
    return fetch(signed.url, sent).catch(unreached);
  };
}

/** `fetch` has the reason in the cause. */
function unreached(error: Error): never {
  const { cause } = error;
  throw new Error(cause instanceof Error ? cause.message : error.message, { cause: error });
}

export async function textOf({ body }: Response): Promise<string> {
  const { bytes } = await boundedBody(body, MOST_ANSWER_BYTES);
  return bytes.toString('utf8');
}

/** The status, and the code of the server, which is one word. */
export function refusal({ status }: Response, text: string): Error {
  const code = /<Code>(?<code>\w{1,64})<\/Code>/.exec(text)?.groups?.['code'];
  return new Error(`the server answers ${status}${code === undefined ? '' : ` ${code}`}`);
}
