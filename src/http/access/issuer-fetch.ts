// Asks the issuer of tokens for its keys: callers without any key cause it, so it is bounded in bytes and in how often.
// Must never read an answer that does not end, nor ask again and again an issuer that fails.

/** Keys of issuers are of some kilobytes. */
const MOST_BYTES = 1024 * 1024;
const PAUSE_MS = 5_000;
const OK = 200;

export interface IssuerLimits {
  readonly mostBytes?: number;
  /** Time without further attempts after a failure. */
  readonly pauseMs?: number;
  readonly now?: () => number;
}

/** The signal of a request bounds its time, with the body. */
export type IssuerFetch = (url: string, init: RequestInit) => Promise<Response>;

export function boundedFetch(limits: IssuerLimits = {}): IssuerFetch {
  const { mostBytes = MOST_BYTES, pauseMs = PAUSE_MS, now = () => performance.now() } = limits;
  let pausedUntil = -Infinity;
  let failure: unknown;

  return async (url, init) => {
    if (now() < pausedUntil) throw new Error('the issuer failed a moment ago', { cause: failure });
    try {
      return await wholeAnswer(await fetch(url, init), mostBytes);
    } catch (error) {
      failure = error;
      pausedUntil = now() + pauseMs;
      throw error;
    }
  };
}

async function wholeAnswer(response: Response, mostBytes: number): Promise<Response> {
  const { status, body } = response;
  if (status !== OK) {
    await body?.cancel();
    throw new Error(`the issuer answered with status ${status}`);
  }
  const text = await boundedText(body, mostBytes);
  // What is no set of keys is a failure too.
  const { keys } = Object(JSON.parse(text)) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('the issuer answered with something else than keys');
  return new Response(text);
}

/** To leave the loop early cancels the rest. */
export async function boundedText(
  body: ReadableStream<Uint8Array> | null,
  mostBytes: number,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`the issuer answered with more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
