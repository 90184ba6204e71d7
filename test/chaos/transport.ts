/** One HTTP exchange with one of the APIs: an answer, or the fact that none came.
 *  It must never repeat by itself: the driver decides that, and it is part of the history. */

import { randomBytes } from 'node:crypto';

/** The key of every API: there is another tenant beside the one that is judged. */
export const ADMIN_KEY = randomBytes(32).toString('hex');

export interface Exchange {
  readonly api: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly status: number | 'lost';
  readonly body: unknown;
}

export interface ExchangeOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The connection is cut after this long. Default: 20 s. */
  readonly cutAfterMs?: number;
}

const PATIENCE_MS = 20_000;

export async function exchange(
  api: string,
  method: 'GET' | 'POST',
  path: string,
  { body, headers, cutAfterMs = PATIENCE_MS }: ExchangeOptions = {},
): Promise<Exchange> {
  const sentAt = Date.now();
  try {
    const response = await fetch(api + path, {
      method,
      signal: AbortSignal.timeout(cutAfterMs),
      headers: {
        authorization: `Bearer ${ADMIN_KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    return { api, sentAt, answeredAt: Date.now(), status: response.status, body: answer };
  } catch (error) {
    return { api, sentAt, answeredAt: Date.now(), status: 'lost', body: { code: reason(error) } };
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.name}${cause}`;
}

/** Reads until there is an answer other than "not now"; null if there is none for `patienceMs`. */
export async function read<T>(
  apis: readonly string[],
  path: string,
  patienceMs = 30_000,
): Promise<{ status: number; body: T } | null> {
  const giveUpAt = Date.now() + patienceMs;
  for (let turn = 0; Date.now() < giveUpAt; turn += 1) {
    const { status, body } = await exchange(apis[turn % apis.length] ?? '', 'GET', path);
    if (status !== 'lost' && status !== 503) return { status, body: body as T };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return null;
}
