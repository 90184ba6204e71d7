/** The service over HTTP, without encryption: all of it that `@adjutant/client` loads at first.
 *  Needs nothing but web standards, and loads no schema and no code of encryption. */
import type { AccessClient } from '../contract/access/access.ts';
import { directivePath, signalsPath } from '../contract/api-path.ts';
import type { DirectiveClient, SubmitOptions } from '../contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../contract/directive/directive.ts';
import { onceOf, type OnceFields } from '../contract/directive/once.ts';
import { answeredRuns } from '../contract/run/run-answer.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../contract/problem.ts';
import type { DirectiveView } from '../contract/request/request-view.ts';
import type { SignalPage } from '../contract/signal/signal-page.ts';
import { isTerminalSignal, type Signal, type TerminalSignal } from '../contract/signal/signal.ts';
import type { Submission } from '../contract/directive/submission.ts';
import { callOf, callsOf, plainCalls, queryText, submissionHeaders } from './calls.ts';
import { createExchanger, type Exchanger, type Fetch } from './exchange.ts';
import { newIdentifier, newShortId } from './identifier.ts';
import { createReconnection } from './reconnection.ts';
import { followSignals } from './signal-follower.ts';

export * from '../contract/client-names.ts';
export type { PlainClientOptions as HttpClientOptions };
export { createArchiveClient } from './archive-client.ts';
export { followText, textOf } from './answer-text.ts';
export { type FoldedCalls, readDelta } from '../contract/model/delta-fold.ts';

/** Options of a client without encryption. */
export interface PlainClientOptions {
  /** Address of the service, such as `http://127.0.0.1:7420`. */
  readonly baseUrl: string;
  /** API key, where the service requires keys. Default: none. */
  readonly apiKey?: string;
  /**
   * Implementation of `fetch`. Default: the global one, which keeps connections alive; in Node, JSON goes over `node:http` instead, for a third of the cost, unless
   * the global `fetch`, its dispatcher or the proxy of the environment was set.
   */
  readonly fetch?: Fetch;
  /** Source of random numbers from 0 to 1 for the jitter of reconnections. Default: Math.random. */
  readonly random?: () => number;
  /** Idle time after which a stream of signals counts as broken, in milliseconds. Default: 45,000, three heartbeats of the service. */
  readonly idleTimeoutMs?: number;
  /** Called with the error of each failed attempt to reach the service again, and with null after a success. Default: none. */
  readonly onReach?: (failure: ServiceUnavailable | null) => void;
}

/**
 * Creates a client that manages API keys over HTTP.
 * @param options `baseUrl` of the service, `apiKey` with the scope `admin` (not required before the first key exists),
 * and `fetch` (default: the global one).
 * @returns The client.
 * @throws `DirectiveRefused` with `unauthorized` or `forbidden` where the key lacks the scope; `ServiceUnavailable`
 * where the service does not answer.
 * @example
 * ```ts
 * import { createAccessClient } from 'adjutant/client';
 * const access = createAccessClient({ baseUrl: 'http://127.0.0.1:7420', apiKey: 'adj_…' });
 * const { key } = await access.create({ name: 'ci', scopes: ['submit', 'read'] });
 * ```
 */
export function createAccessClient(
  options: Pick<PlainClientOptions, 'baseUrl' | 'apiKey' | 'fetch'>,
): AccessClient {
  return callsOf(createExchanger(options.baseUrl, options.fetch, options.apiKey), 'keys');
}

/** How long one exchange waits for the end of a directive: less than the idle limit of common proxies. */
const LONG_POLL_MS = 25_000;
const PAGE_LIMIT = 1_000;

/**
 * Creates a client that reaches the service over HTTP. It needs web standards only, and runs in Node and in browsers.
 * @param options Address of the service and optional settings.
 * @returns The client. Call `close` to end its streams.
 * @throws Each method throws `DirectiveRefused` with the code of the problem where the service refuses a call, and
 * `ServiceUnavailable` where the service does not answer.
 * @example
 * ```ts
 * import { createHttpClient } from 'adjutant/client';
 * const client = createHttpClient({ baseUrl: 'http://127.0.0.1:7420' });
 * const end = await client.execute({ type: 'tool_exec', tool_name: 'everything.echo', arguments: { message: 'hi' } });
 * console.log(end.type, end.data);
 * await client.close();
 * ```
 */
export function createHttpClient(options: PlainClientOptions): DirectiveClient {
  const { random = Math.random, idleTimeoutMs = 45_000, onReach } = options;
  const exchanger = createExchanger(options.baseUrl, options.fetch, options.apiKey);
  const closed = new AbortController();
  const waiting: Waiting = { exchanger, random };
  const view = callOf(exchanger, 'request');
  const request: DirectiveClient['request'] = async (requestId) => orNull(view(requestId));
  const signals: DirectiveClient['signals'] = (requestId, { after = 0, signal, follow = true } = {}) => {
    if (!follow) return readLog(exchanger, requestId, after, signal);
    const either = signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]);
    return followSignals(exchanger, requestId, { after, signal: either, idleTimeoutMs, random, onReach });
  };
  const directive = callOf(exchanger, 'directive');
  const payload = callOf(exchanger, 'payload');
  const cancel = callOf(exchanger, 'cancel');
  const cancelDirective = callOf(exchanger, 'cancelDirective');
  const prioritize = callOf(exchanger, 'prioritize');
  const drainWorker = callOf(exchanger, 'drainWorker');
  const resumeWorker = callOf(exchanger, 'resumeWorker');
  return {
    ...plainCalls(exchanger),
    submit: async (directives, submitOptions = {}) => submit(exchanger, directives, submitOptions),
    execute: (async (directive, executeOptions = {}) =>
      execute(waiting, directive, executeOptions)) as DirectiveClient['execute'],
    result: async (requestId, directiveId, { signal, timeoutMs = Infinity } = {}) =>
      waitForResult(waiting, directivePath(requestId, directiveId), { signal, timeoutMs, reached: false }),
    signals,
    page: async (requestId, range = {}) => readPage(exchanger, requestId, range),
    request,
    directive: async (requestId, directiveId) => orNull(directive(requestId, directiveId)),
    payload: async (requestId, directiveId) => (await payload(requestId, directiveId)).payload,
    cancel: async (requestId, directiveId, { reason } = {}) => {
      const body = reason === undefined ? {} : { reason };
      return directiveId === undefined
        ? cancel(requestId, body)
        : cancelDirective(requestId, directiveId, body);
    },
    prioritize: async (requestId, directiveId, priority) => prioritize(requestId, directiveId, { priority }),
    drainWorker: async (id, drain = true) => (drain ? drainWorker(id) : resumeWorker(id)),
    runs: answeredRuns(callsOf(exchanger, 'runs'), { signals, request }),
    schedules: callsOf(exchanger, 'schedules'),
    servers: callsOf(exchanger, 'servers'),
    runtimeAgents: callsOf(exchanger, 'runtimeAgents'),
    policies: callsOf(exchanger, 'policies'),
    close: async () => closed.abort(),
  };
}

interface Waiting {
  readonly exchanger: Exchanger;
  readonly random: () => number;
}

interface WaitLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Whether the service has answered before: only then an outage is waited out. */
  readonly reached: boolean;
}

async function submit(
  exchanger: Exchanger,
  directives: SubmittedDirective | readonly SubmittedDirective[],
  { signal, idempotencyKey, traceparent }: SubmitOptions,
  waitMs?: number,
): Promise<Submission> {
  const body = Array.isArray(directives) ? { directives } : directives;
  const headers = submissionHeaders({ idempotencyKey, traceparent });
  const query = waitMs === undefined ? '' : `?wait_ms=${waitMs}`;
  return exchanger.json<Submission>({
    method: 'POST',
    path: `/v1/directives${query}`,
    headers,
    body,
    signal,
  });
}

/** Gives the directive its ids before it is sent, so that a repeat after a lost answer is the same submission. */
async function execute(
  waiting: Waiting,
  directive: SubmittedDirective,
  options: SubmitOptions & { timeoutMs?: number },
): Promise<TerminalSignal> {
  const { timeoutMs = Infinity, signal } = options;
  const endsAt = Date.now() + timeoutMs;
  // Under a key the service chooses the ids.
  const isUnderKey = onceOf(directive as OnceFields) !== null;
  const { idempotencyKey = isUnderKey ? newIdentifier() : undefined } = options;
  const named =
    idempotencyKey === undefined
      ? { request_id: newShortId(), id: newIdentifier(), ...withoutAbsent(directive) }
      : directive;
  const waitMs = Math.min(timeoutMs, LONG_POLL_MS);
  const sending = idempotencyKey === undefined ? options : { ...options, idempotencyKey };
  const submission = await onceMore(async () => submit(waiting.exchanger, named, sending, waitMs), signal);
  const [entry] = submission.directives;
  if (entry === undefined) throw new Error('The service accepted nothing, and refused nothing.');
  if (entry.result !== undefined && isTerminalSignal(entry.result)) return entry.result;
  const limits = { signal, timeoutMs: Math.max(0, endsAt - Date.now()), reached: true };
  const result = await waitForResult(waiting, directivePath(submission.request_id, entry.id), limits);
  if (result !== null) return result;
  throw new ServiceUnavailable(
    `Directive ${entry.id} of request ${submission.request_id} has not ended in time; it continues.`,
  );
}

/** Sends once more when no answer came: the service may have closed a kept-alive connection just then. */
async function onceMore<T>(step: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ServiceUnavailable) || error.retryAfterMs !== null) throw error;
    signal?.throwIfAborted();
    return step();
  }
}

/** Asks until the directive has ended. Waits out an outage only after a first answer of the service. */
async function waitForResult(
  waiting: Waiting,
  path: string,
  limits: WaitLimits,
): Promise<TerminalSignal | null> {
  const endsAt = Date.now() + limits.timeoutMs;
  const reconnection = createReconnection(waiting.random);
  let { reached } = limits;
  for (;;) {
    const waitMs = Math.min(LONG_POLL_MS, Math.max(0, endsAt - Date.now()));
    try {
      const query = `?wait_ms=${Math.ceil(waitMs)}`;
      const view = await waiting.exchanger.json<DirectiveView>({ path: path + query, signal: limits.signal });
      reached = true;
      reconnection.succeeded();
      if (view.result !== null && isTerminalSignal(view.result)) return view.result;
    } catch (error) {
      if (!reached || !(error instanceof ServiceUnavailable)) throw error;
      await reconnection.wait(error, limits.signal);
    }
    limits.signal?.throwIfAborted();
    if (Date.now() >= endsAt) return null;
  }
}

async function readPage(
  exchanger: Exchanger,
  requestId: string,
  { after = 0, limit }: { after?: number; limit?: number },
  signal?: AbortSignal,
): Promise<SignalPage> {
  const path = signalsPath(requestId) + queryText({ after, limit });
  return exchanger.json<SignalPage>({ path, signal });
}

/** The signals that are in the log now. */
async function* readLog(
  exchanger: Exchanger,
  requestId: string,
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Signal, void, undefined> {
  let last = after;
  let full = true;
  while (full && signal?.aborted !== true) {
    const { signals } = await readPage(exchanger, requestId, { after: last, limit: PAGE_LIMIT }, signal);
    yield* signals;
    last = signals.at(-1)?.sequence ?? last;
    full = signals.length === PAGE_LIMIT;
  }
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DirectiveRefused && error.problem.code === problem('not_found').code) return null;
    throw error;
  }
}

function withoutAbsent(directive: SubmittedDirective): SubmittedDirective {
  return Object.fromEntries(
    Object.entries(directive).filter(([, value]) => value !== undefined),
  ) as SubmittedDirective;
}
