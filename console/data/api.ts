/** Calls the API of this service: same origin, the session's cookie, problems as errors.
 *  It must never keep a key, nor repeat a call that may have changed something. */
import type { Problem } from '../../src/contract/problem.ts';
import { noteReach } from './reach.ts';
import { inTenant, whyUnchangeable } from './tenant.ts';

/** The service refused. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** The service did not answer; whether it acted is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** The service keeps no list of requests: nothing is broken, and asking again soon changes nothing. */
export function isListOff(error: unknown): boolean {
  return error instanceof Refused && error.problem.code === 'search_off';
}

/** It says nothing about the question: asked later it may be answered. */
export function isAway(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof Refused && isAwayStatus(error.problem.status));
}

/** Status of a service without its Redis, and of a proxy without the service. A 500 is a fault of one call. */
function isAwayStatus(status: number): boolean {
  return status > 500;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

let csrf: string | null = null;
let onSignedOut: () => Promise<void> = async () => {};

/** Holds the token of the session; null: none. `readAgain` is called when the service no longer knows it, and holds the new one. */
export function holdSessionToken(token: string | null, readAgain: () => Promise<void>): void {
  csrf = token;
  onSignedOut = readAgain;
}

const SESSION = '/v1/session';

/** Reads or changes what is at `path`, which begins with `/v1/`. Throws `Refused` or `NoAnswer`. */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const token = csrf;
  const why = method === 'GET' || path === SESSION ? null : whyUnchangeable();
  if (why !== null)
    throw new Refused({
      type: 'about:blank',
      title: 'Nothing was changed',
      detail: why,
      status: 403,
      code: 'other_tenant',
    });
  const response = await ask(method, method === 'GET' ? inTenant(path) : path, options);
  const body = await bodyOf(response);
  if (response.ok) return body as T;
  const problem = asProblem(body, response);
  if (response.status === 401) void onSignedOut();
  // Somebody signed in again in another tab: nothing was done, and the new token may be right.
  if (problem.code === 'forbidden' && method !== 'GET' && token !== null) {
    await onSignedOut();
    if (csrf !== null && csrf !== token) return call(method, path, options);
  }
  throw new Refused(problem);
}

async function ask(method: Method, path: string, { body, headers, signal }: CallOptions): Promise<Response> {
  try {
    const response = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(method === 'GET' || csrf === null ? {} : { 'x-adjutant-csrf': csrf }),
        ...headers,
      },
      credentials: 'same-origin',
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    // The session is known without Redis.
    if (isAwayStatus(response.status)) noteReach(false);
    else if (path !== SESSION) noteReach(true);
    return response;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    noteReach(false);
    throw new NoAnswer('The service does not answer.', { cause: error });
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch (error) {
    throw new NoAnswer('The answer of the service was cut off.', { cause: error });
  }
}

function asProblem(body: unknown, { status, statusText }: Response): Problem {
  if (typeof body === 'object' && body !== null && 'code' in body) return body as Problem;
  return { type: 'about:blank', title: statusText, status, code: `http_${status}` };
}

/** A path with its parts escaped: each comes from outside. */
export function path(strings: TemplateStringsArray, ...parts: readonly (string | number)[]): string {
  return String.raw({ raw: strings }, ...parts.map((part) => encodeURIComponent(part)));
}
