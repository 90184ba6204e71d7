/** A request for JSON, and what a server answered to it.
 *  It must never say whether the answer is one of the service. */

/** Ready to be sent. */
export interface AskedRequest {
  /** From the base URL on, with its query. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  /** '' when it has none. */
  readonly contentType: string;
  readonly retryAfter: string | null;
  /** '' when it is not JSON; null when it ended too early. */
  readonly text: string | null;
}

export function isJson(contentType: string): boolean {
  return /\bjson\b/i.test(contentType);
}
