/** One HTTP exchange with the service: sends a request, returns an answer or throws a typed error.
 *  It must never retry, nor return an answer that is not from the service. */
import { isProblem, DirectiveRefused, problem, ServiceUnavailable } from '../contract/problem.ts';
import { type Answer, type AskedRequest, isJson } from './answer.ts';
import { connectsByDefault, isNodeFetch, nodeAsk } from './node-http.ts';

export type Fetch = typeof globalThis.fetch;

export interface Exchange {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
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

/** `given` undefined: the global one; JSON then goes without it where Node's own HTTP does the same for less. `apiKey` goes with each request. */
export function createExchanger(baseUrl: string, given: Fetch | undefined, apiKey?: string): Exchanger {
  const base = baseUrl.replace(/\/+$/, '');
  const fetch = given ?? globalThis.fetch;
  const ask = createAsk(base, fetch, given === undefined);
  const fixed = fixedHeaders(apiKey);
  const open = async (exchange: Exchange): Promise<Response> => {
    const request = requestOf(exchange, fixed);
    const response = await reached(async () => send(fetch, base, request), base, exchange.signal);
    if (!response.ok) throw errorOf(await answerOf(response), base);
    return response;
  };
  return {
    open,
    json: async <T>(exchange: Exchange): Promise<T> => {
      const { signal } = exchange;
      const request = requestOf(exchange, fixed);
      const answer = await reached(async () => ask(request), base, signal);
      if (answer.status < 200 || answer.status > 299) throw errorOf(answer, base);
      const { contentType, text } = answer;
      if (!isJson(contentType))
        throw notAdjutant(base, /^[\w.+/-]{1,80}/.exec(contentType)?.[0] ?? 'without a type');
      if (text === null) signal?.throwIfAborted();
      const value = jsonOf(text);
      if (value === undefined) throw new ServiceUnavailable('The answer of the service is incomplete.');
      return value as T;
    },
  };
}

function createAsk(base: string, fetch: Fetch, isDefault: boolean) {
  let inNode = isDefault && isNodeFetch(fetch) ? nodeAsk(base) : null;
  return async (request: AskedRequest): Promise<Answer> => {
    if (inNode !== null && connectsByDefault()) {
      const answer = await inNode(request);
      if (answer !== null) return answer;
      // What stands before the service redirects or packs its answers: it is asked in one way from here on.
      inNode = null;
    }
    return answerOf(await send(fetch, base, request));
  };
}

/** A segment `.` or `..`, refused: `fetch` resolves it, so the call would reach another resource. */
const STEP = /\/\.{1,2}(?=[/?]|$)/;
const NO_ADDRESS = 'An id that is "." or ".." cannot be part of a URL.';

/** Headers of each request, without a body and with one. */
interface FixedHeaders {
  readonly gets: Record<string, string>;
  readonly posts: Record<string, string>;
}

/** Throws a `TypeError` where the key cannot be in a header, without showing it. */
function fixedHeaders(apiKey: string | undefined): FixedHeaders {
  if (apiKey !== undefined && !/^[\x21-\x7E]+$/.test(apiKey))
    throw new TypeError('The API key holds a character that no key has.');
  const gets = {
    accept: 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  return { gets, posts: { ...gets, 'content-type': 'application/json' } };
}

function requestOf(
  { method = 'GET', path, headers, body, signal }: Exchange,
  { gets, posts }: FixedHeaders,
): AskedRequest {
  if (STEP.test(path)) throw new DirectiveRefused(problem('bad_request', { detail: NO_ADDRESS }));
  const fixed = body === undefined ? gets : posts;
  return {
    path,
    method,
    // Its constructor refuses what no header may hold.
    headers: isEmpty(headers) ? fixed : Object.fromEntries(new Headers({ ...fixed, ...headers })),
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  };
}

function isEmpty(headers: Readonly<Record<string, string>> = {}): boolean {
  return Object.keys(headers).length === 0;
}

async function send(fetch: Fetch, base: string, request: AskedRequest): Promise<Response> {
  const { path, method, headers, body, signal } = request;
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = body;
  if (signal !== undefined) init.signal = signal;
  return fetch(`${base}${path}`, init);
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const contentType = headers.get('content-type') ?? '';
  const isRead = isJson(contentType) || !response.ok;
  const text = isRead ? await response.text().catch(() => null) : '';
  return { status, contentType, retryAfter: headers.get('retry-after'), text };
}

/** undefined: it is no JSON. */
function jsonOf(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '') as unknown;
  } catch {
    return undefined;
  }
}

/** An abort throws its reason; every other error becomes `ServiceUnavailable`. */
async function reached<T>(step: () => Promise<T>, base: string, signal?: AbortSignal): Promise<T> {
  try {
    return await step();
  } catch (error) {
    signal?.throwIfAborted();
    throw new ServiceUnavailable(`No service answers at ${base}${toPage()}.`, { cause: error });
  }
}

/** A page cannot tell a refusal by CORS from a service that is down. '' outside of pages. */
function toPage(): string {
  return 'location' in globalThis ? ', or its http.cors.origins lacks this page' : '';
}

function errorOf({ status, retryAfter, text }: Answer, base: string): Error {
  const refusal = jsonOf(text);
  if (!isProblem(refusal)) return notAdjutant(base, `HTTP ${status}`);
  if (status !== 503) return new DirectiveRefused(refusal);
  return new ServiceUnavailable(refusal.detail ?? refusal.title, {
    retryAfterMs: readRetryAfter(retryAfter),
  });
}

function notAdjutant(base: string, why: string): ServiceUnavailable {
  return new ServiceUnavailable(`The server at ${base} is not Adjutant (${why}).`);
}

function readRetryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : null;
}
