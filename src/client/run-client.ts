/** Steps of a program whose runs the service records: each runs once, and gives its recorded result after a restart.
 *  It must never run a step whose lease it does not hold. */
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { BegunStep, CloseRunBody, ForeignRunView } from '../contract/run/foreign-run.ts';
import { callOf } from './calls.ts';
import { createExchanger } from './exchange.ts';
import { newShortId } from './identifier.ts';
import type { PlainClientOptions } from './plain-client.ts';

/** Options of a step. */
export interface StepOptions {
  /**
   * Whether the step may run again when its process died: `read` and `idempotent` may; of a `once` step the outcome is unknown then.
   * Default: `once`.
   */
  readonly effect?: 'read' | 'idempotent' | 'once';
  /** Key of the step in its run. Default: its name, and how often this client has begun a step of the name in the run. */
  readonly key?: string;
  /** Time until the process counts as dead, in milliseconds; the lease is renewed while the step runs. Default: 30,000. */
  readonly leaseMs?: number;
  /** Aborts the wait for another process, not the step. Default: none. */
  readonly signal?: AbortSignal;
}

/** Client for the runs that a program leads itself. */
export interface ForeignRunClient {
  /**
   * Runs `fn` in this process, and records its result, which is JSON; a step that is recorded gives its result without running. While
   * another process runs it, the call waits.
   * @throws `DirectiveRefused` with `outcome_unknown` where the process of a `once` step died: decide with `decide`. The error of `fn`,
   * which is recorded for `once`, and thrown again as an `Error` with the same message.
   */
  step<T>(run: string, name: string, fn: () => Promise<T> | T, options?: StepOptions): Promise<T>;
  /** Decides about a step of unknown outcome: its result, or that it runs again. */
  decide(run: string, key: string, decision: { result: unknown } | { again: true }): Promise<void>;
  /** Closes a run. The same close again is the same. */
  close(run: string, outcome?: CloseRunBody): Promise<ForeignRunView>;
  /**
   * View of a run. Refused with `not_found` where this caller has none of the name.
   * @param query `turn`: number of the last turn in `latest_turns`. Default: the newest.
   */
  read(run: string, query?: { turn?: number }): Promise<ForeignRunView>;
}

const LEASE_MS = 30_000;
/** Longest delay between two begins of a step that another process runs. */
const LOOK_MS = 500;

/**
 * Creates a client for the runs that a program leads itself.
 * @param options `baseUrl` of the service, `apiKey` with the scopes `submit` and `read` where keys are required, and `fetch`
 * (default: the global one).
 * @returns The client.
 * @throws Each method throws `DirectiveRefused` where the service refuses, `ServiceUnavailable` where it does not answer.
 * @example
 * ```ts
 * import { createRunClient } from 'adjutant/client';
 * const runs = createRunClient({ baseUrl: 'http://127.0.0.1:7420' });
 * const id = await runs.step('order-4711', 'book', () => crypto.randomUUID(), { effect: 'once' });
 * ```
 */
export function createRunClient(
  options: Pick<PlainClientOptions, 'baseUrl' | 'apiKey' | 'fetch'>,
): ForeignRunClient {
  const exchanger = createExchanger(options.baseUrl, options.fetch, options.apiKey);
  const [begin, end] = [callOf(exchanger, 'beginStep'), callOf(exchanger, 'endStep')];
  const [close, read] = [callOf(exchanger, 'closeRun'), callOf(exchanger, 'readRun')];
  /** How often steps of each name were begun, by run; forgotten with the close. */
  const begun = new Map<string, Map<string, number>>();

  function keyOf(run: string, name: string): string {
    const counts = begun.get(run) ?? new Map<string, number>();
    const count = (counts.get(name) ?? 0) + 1;
    begun.set(run, counts.set(name, count));
    return count === 1 ? name : `${name}#${count}`;
  }

  /** The state in which this process runs the step, or that it ended in elsewhere. */
  async function attain(
    run: string,
    body: Parameters<typeof begin>[1],
    signal?: AbortSignal,
  ): Promise<BegunStep> {
    for (;;) {
      const state = await begin(run, body, { signal });
      if (state.state !== 'running') return state;
      await elapsed(Math.min(LOOK_MS, state.lease_ms ?? LOOK_MS), signal);
    }
  }

  async function execute<T>(
    run: string,
    fn: () => Promise<T> | T,
    body: Parameters<typeof begin>[1],
  ): Promise<T> {
    const { key, token, lease_ms: leaseMs = LEASE_MS } = body;
    const renewal = setInterval(() => void begin(run, body).catch(() => {}), leaseMs / 3);
    let result: T;
    try {
      result = await fn();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      await end(run, { key, token, error: text.slice(0, MOST_ERROR_CHARACTERS) });
      throw error;
    } finally {
      clearInterval(renewal);
    }
    await end(run, { key, token, result: result ?? null });
    return result;
  }

  return {
    async step<T>(
      run: string,
      name: string,
      fn: () => Promise<T> | T,
      stepOptions: StepOptions = {},
    ): Promise<T> {
      const { effect = 'once', leaseMs = LEASE_MS, signal, key = keyOf(run, name) } = stepOptions;
      const body = { key, effect, lease_ms: leaseMs, token: newShortId() };
      const state = await attain(run, body, signal);
      if (state.state === 'run') return execute(run, fn, body);
      if (state.state === 'unknown') throw unknownOutcome(run, key);
      if (state.error !== undefined) throw new Error(state.error);
      return state.result as T;
    },
    decide: async (run, key, decision) => void (await end(run, { key, ...decision })),
    close: async (run, outcome = {}) => {
      const closed = await close(run, outcome);
      begun.delete(run);
      return closed;
    },
    read: async (run, query = {}) => read(run, query),
  };
}

const MOST_ERROR_CHARACTERS = 4_096;

function unknownOutcome(run: string, key: string): DirectiveRefused {
  const detail =
    `The process that ran the step "${key}" of the run ${run} died before it reported an end, so it may have acted. ` +
    'Find out whether it has, then call decide with its result, or with again.';
  return new DirectiveRefused(problem('outcome_unknown', { detail }));
}

async function elapsed(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
  signal?.throwIfAborted();
}
