/** fetch for the HTTP transport: a refusal keeps its Retry-After, and no message grows past its bound.
 *  It must never change a response that is within bounds. */
import { type FetchLike, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';

export interface HttpFetchOptions {
  readonly maxMessageBytes: number;
  /** Called with the request's body just before the response breaks off. */
  readonly onOversized: (requestBody: string) => void;
}

export function createHttpFetch({ maxMessageBytes, onOversized }: HttpFetchOptions): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status === 429 || response.status === 503) throw await refusal(response);
    if (!response.ok || response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!isStream && Number(response.headers.get('content-length') ?? Infinity) <= maxMessageBytes)
      return response;
    const bound = boundMessages(maxMessageBytes, isStream, () => {
      if (typeof init?.body === 'string') onOversized(init.body);
    });
    return new Response(response.body.pipeThrough(bound), response);
  };
}

const NEWLINE = 10;

/** In an event stream a message is one line; otherwise it is the whole body. */
function boundMessages(
  maxBytes: number,
  isStream: boolean,
  onOversized: () => void,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let heldBytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const lineEnd = isStream ? chunk.lastIndexOf(NEWLINE) : -1;
      heldBytes = lineEnd === -1 ? heldBytes + chunk.length : chunk.length - lineEnd - 1;
      if (heldBytes <= maxBytes) return controller.enqueue(chunk);
      onOversized();
      controller.error(new Error(`The answer is larger than ${maxBytes} bytes`));
    },
  });
}

/** The SDK's error for a refused request has no headers; Retry-After has to be put in before it is lost. */
async function refusal(response: Response): Promise<SdkHttpError> {
  const { status, statusText } = response;
  const text = await response.text().catch(() => '');
  const retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'), Date.now());
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `HTTP ${status}`, {
    status,
    statusText,
    text: text.slice(0, 500),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  });
}

/** Retry-After is either seconds or an HTTP date. null: absent or neither. */
export function readRetryAfterMs(header: string | null, now: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1_000));
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
