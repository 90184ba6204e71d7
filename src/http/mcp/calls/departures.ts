/** Clients that wait for a call, and what their leaving means: an explicit cancel ends it, a lost connection only later.
 *  It must never cancel a call that another client of this process waits for, nor for a lost connection one that is waited for elsewhere. */
import { randomUUID } from 'node:crypto';
import { DirectiveRefused } from '../../../contract/problem.ts';
import type { Place } from './tool-answer.ts';

/** `done`: it has its answer, or comes back by itself. */
export type Departure = 'done' | 'cancelled' | 'lost';

export interface Departures {
  /** To be called with the way in which the client leaves, once. */
  join(place: Place): (how: Departure) => void;
}

/** What those whom a client may come back to know of each other. Each rejects when it cannot be known now. */
export interface SharedWaits {
  /** Of several the last one counts. */
  mark(requestId: string, who: string, forMs: number): Promise<void>;
  markedBy(requestId: string): Promise<string | null>;
}

export interface DeparturesOptions {
  readonly cancel: (place: Place, reason: string) => Promise<unknown>;
  /** Name of the client in the reason of a cancellation. Default: `the MCP client`. */
  readonly client?: string;
  /** null: clients come back to this process only. */
  readonly shared: SharedWaits | null;
  /** How long a call goes on for a client whose connection is lost: it may repeat the call with its key. */
  readonly graceMs: number;
  /** The service ends: calls go on without it. */
  readonly stop: AbortSignal;
  readonly onError: (error: Error) => void;
}

interface Waiting {
  clients: number;
  grace: AbortController | null;
  /** Ends the marks of a wait that lasts. */
  unmark: () => void;
}

/** A wait that is shorter costs no write. */
const MARK_EVERY_MS = 5_000;
/** Between two looks whoever waits has set a mark. */
const LOOK_EVERY_MS = MARK_EVERY_MS + 1_000;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Half an hour: an outage ends, or somebody has noticed it. */
const MOST_TRIES = 64;
/** What is still unknown then has never been accepted. */
const MOST_REFUSALS = 5;

export function createDepartures(options: DeparturesOptions): Departures {
  const { cancel, shared, graceMs, stop, onError, client = 'the MCP client' } = options;
  const waiting = new Map<string, Waiting>();
  const me = randomUUID();

  /** A cancel may overtake the submission that it means, and Redis may be away: the call must not go on for that. */
  async function cancelled(place: Place, reason: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return void (await cancel(place, reason));
      } catch (error) {
        const most = error instanceof DirectiveRefused ? MOST_REFUSALS : MOST_TRIES;
        if (tries >= most) return onError(error as Error);
        if (!(await elapsed(pauseMs(tries), stop)) || waiting.has(place.requestId)) return undefined;
      }
    }
  }

  /** Also when the client is lost: of several who lost it the last one decides. What fails is done again, or nobody can look either. */
  async function mark({ requestId }: Place): Promise<void> {
    await shared?.mark(requestId, me, graceMs).catch(() => {});
  }

  function marking(place: Place): () => void {
    if (shared === null) return () => {};
    const timer = setInterval(() => void mark(place), MARK_EVERY_MS).unref();
    return () => clearInterval(timer);
  }

  /** Looks twice: Redis may have been away for whoever marks. */
  async function isWaitedElsewhere({ requestId }: Place, back: AbortSignal): Promise<boolean> {
    if (shared === null) return false;
    for (let tries = 1, unmarked = 0; tries <= MOST_TRIES; tries += 1) {
      const who = await shared.markedBy(requestId).catch(() => undefined);
      if (typeof who === 'string' && who !== me) return true;
      unmarked = who === undefined ? 0 : unmarked + 1;
      if (unmarked === 2 || !(await elapsed(LOOK_EVERY_MS, back))) return false;
    }
    return false;
  }

  async function afterGrace(place: Place, grace: AbortSignal): Promise<void> {
    const back = AbortSignal.any([grace, stop]);
    await mark(place);
    if (!(await elapsed(graceMs, back))) return;
    const isElsewhere = await isWaitedElsewhere(place, back);
    if (back.aborted) return;
    waiting.delete(place.requestId);
    if (!isElsewhere) await cancelled(place, `the connection of ${client} was lost`);
  }

  function leave(place: Place, entry: Waiting, how: Departure): void {
    entry.clients -= 1;
    if (entry.clients > 0) return;
    entry.unmark();
    if (how === 'cancelled') void cancelled(place, `${client} cancelled the call`);
    if (how !== 'lost') waiting.delete(place.requestId);
    else {
      entry.grace = new AbortController();
      void afterGrace(place, entry.grace.signal);
    }
  }

  function join(place: Place): (how: Departure) => void {
    const entry = waiting.get(place.requestId) ?? { clients: 0, grace: null, unmark: () => {} };
    waiting.set(place.requestId, entry);
    entry.clients += 1;
    if (entry.clients === 1) entry.unmark = marking(place);
    entry.grace?.abort();
    entry.grace = null;
    return (how) => leave(place, entry, how);
  }

  return { join };
}

function pauseMs(tries: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
}

/** Whether the time has passed without an abort. Does not keep the process alive. */
async function elapsed(ms: number, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), ms);
  timer.unref();
  const aborted = (): void => resolve(false);
  if (signal.aborted) aborted();
  signal.addEventListener('abort', aborted, { once: true });
  const hasPassed = await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', aborted);
  return hasPassed;
}
