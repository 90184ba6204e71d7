/** One HTTP exchange with the service: sends a request, returns an answer or throws a typed error.
 *  It must never retry, nor return an answer that is not from the service. */
import {
  DirectiveRefused,
  problem,
  type Problem,
  problemSchema,
  ServiceUnavailable,
} from '../contract/problem.ts';

export type Fetch = typeof globalThis.fetch;

export interface Exchange {
  readonly method?: 'GET' | 'POST';
  /** Relative to the base URL, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Both throw `DirectiveRefused`, `ServiceUnavailable`, or the reason of the abort. */
export interface Exchanger {
  /** The 2xx answer, with its body unread. */
  open(exchange: Exchange): Promise<Response>;
  /** The answer's JSON. The service is ours, so its shape is trusted. */
  json<T>(exchange: Exchange): Promise<T>;
}

export function createExchanger(baseUrl: string, fetch: Fetch): Exchanger {
  const base = baseUrl.replace(/\/+$/, '');
  const open = async (exchange: Exchange): Promise<Response> => {
    const response = await send(fetch, base, exchange);
    if (!response.ok) throw await errorOf(response, base);
    return response;
  };
  return {
    open,
    json: async <T>(exchange: Exchange): Promise<T> => {
      const response = await open(exchange);
      const type = response.headers.get('content-type') ?? '';
      if (!/\bjson\b/i.test(type))
        throw notAdjutant(base, /^[\w.+/-]{1,80}/.exec(type)?.[0] ?? 'without a type');
      const broken = 'The answer of the service is incomplete.';
      return orUnavailable(async () => response.json() as Promise<T>, broken, exchange.signal);
    },
  };
}

/** A segment `.` or `..`, refused: `fetch` resolves it, so the call would reach another resource. */
const STEP = /\/\.{1,2}(?=[/?]|$)/;
const NO_ADDRESS = 'An id that is "." or ".." cannot be part of a URL.';

async function send(fetch: Fetch, base: string, exchange: Exchange): Promise<Response> {
  const { method = 'GET', path, body, signal } = exchange;
  if (STEP.test(path)) throw new DirectiveRefused(problem('bad_request', { detail: NO_ADDRESS }));
  const headers = new Headers({ accept: 'application/json', ...exchange.headers });
  const init: RequestInit = { method, headers };
  if (body !== undefined) {
    headers.set('content-type', 'application/json');
    init.body = JSON.stringify(body);
  }
  if (signal !== undefined) init.signal = signal;
  return orUnavailable(async () => fetch(`${base}${path}`, init), `No service answers at ${base}.`, signal);
}

/** An abort throws its reason; every other error becomes `ServiceUnavailable`. */
async function orUnavailable<T>(step: () => Promise<T>, message: string, signal?: AbortSignal): Promise<T> {
  try {
    return await step();
  } catch (error) {
    signal?.throwIfAborted();
    throw new ServiceUnavailable(message, { cause: error });
  }
}

async function errorOf(response: Response, base: string): Promise<Error> {
  const refusal = await readProblem(response);
  if (refusal === null) {
    return notAdjutant(base, `HTTP ${response.status}`);
  }
  if (response.status !== 503) return new DirectiveRefused(refusal);
  const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
  return new ServiceUnavailable(refusal.detail ?? refusal.title, { retryAfterMs });
}

function notAdjutant(base: string, why: string): ServiceUnavailable {
  return new ServiceUnavailable(`The server at ${base} is not Adjutant (${why}).`);
}

async function readProblem(response: Response): Promise<Problem | null> {
  const body: unknown = await response.json().catch(() => null);
  const parsed = problemSchema.safeParse(body);
  return parsed.success ? parsed.data : null;
}

function readRetryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : null;
}
