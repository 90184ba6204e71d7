/** The service as any program sees it: plain HTTP and server-sent events, read byte by byte.
 *  It must not use the typed client, which hides what a test checks here. */
import type { Signal } from '../../src/contract/signal/signal.ts';

export interface Answer<T = unknown> {
  readonly status: number;
  readonly body: T;
}

/** A JSON value, or a raw body. */
export async function post<T>(url: string, body: unknown): Promise<Answer<T>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as T };
}

export async function get<T>(url: string): Promise<Answer<T>> {
  const response = await fetch(url);
  return { status: response.status, body: (await response.json()) as T };
}

export interface StreamOptions {
  /** Default: none. */
  readonly key?: string;
  /** Sent as Last-Event-ID. */
  readonly after?: string;
  /** Ends the connection; the reader throws its reason. */
  readonly signal?: AbortSignal;
  /** The connection is cut after this many bytes, anywhere in a frame. Default: never. */
  readonly cutAfterBytes?: number;
}

export interface Frame {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** The whole frames of one connection, as an EventSource reads them: an incomplete frame does not count. */
export async function* frames(
  url: string,
  requestId: string,
  { key, after, signal, cutAfterBytes = Number.POSITIVE_INFINITY }: StreamOptions = {},
): AsyncGenerator<Frame> {
  const cut = new AbortController();
  const headers = {
    accept: 'text/event-stream',
    ...(after === undefined ? {} : { 'last-event-id': after }),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  const response = await fetch(`${url}/v1/requests/${requestId}/signals`, {
    headers,
    signal: signal === undefined ? cut.signal : AbortSignal.any([cut.signal, signal]),
  });
  if (response.status === 204) return;
  if (response.status !== 200 || response.body === null)
    throw new Error(`${response.status} for a stream of ${requestId}`);
  let bytes = Buffer.alloc(0);
  let left = cutAfterBytes;
  try {
    for await (const chunk of response.body) {
      bytes = Buffer.concat([bytes, (chunk as Uint8Array).subarray(0, left)]);
      left -= (chunk as Uint8Array).length;
      for (let end = bytes.indexOf('\n\n'); end >= 0; end = bytes.indexOf('\n\n')) {
        const frame = parseFrame(bytes.subarray(0, end).toString());
        bytes = bytes.subarray(end + 2);
        if (frame !== null) yield frame;
      }
      if (left <= 0) return;
    }
  } catch (error) {
    // A connection that a killed process leaves behind ends like this.
    if (!(error instanceof TypeError)) throw error;
  } finally {
    cut.abort();
  }
}

function parseFrame(block: string): Frame | null {
  const frame = { id: '', event: '', data: '' };
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(id|event|data): (.*)$/.exec(line) ?? [];
    if (name !== '') frame[name as keyof typeof frame] = value;
  }
  return frame.event === '' ? null : frame;
}

/** Live signals, until the request is closed or the caller has seen enough. */
export async function* follow(url: string, requestId: string): AsyncGenerator<Signal> {
  for await (const { event, data } of frames(url, requestId)) {
    if (event === 'adjutant.end') return;
    yield JSON.parse(data) as Signal;
  }
}

/** Resolves when this many directives of the request have ended, and `also` holds; checked at each end. */
export async function untilEnded(
  url: string,
  requestId: string,
  wanted: number,
  also: () => boolean = () => true,
): Promise<void> {
  let ended = 0;
  for await (const { type } of follow(url, requestId)) {
    if (type === 'ai.tool.result') ended += 1;
    if (ended >= wanted && also()) return;
  }
}

export async function untilClosed(url: string, requestId: string): Promise<void> {
  await untilEnded(url, requestId, Number.POSITIVE_INFINITY);
}
