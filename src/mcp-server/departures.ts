/** Clients that wait for a call, and what their leaving means: an explicit cancel ends it, a lost connection only later.
 *  It must never cancel a call that another client of this process still waits for. */
import { DirectiveRefused } from '../contract/problem.ts';
import type { Place } from './tool-answer.ts';

/** `done`: it has its answer, or comes back by itself. */
export type Departure = 'done' | 'cancelled' | 'lost';

export interface Departures {
  /** To be called with the way in which the client leaves, once. */
  join(place: Place): (how: Departure) => void;
}

export interface DeparturesOptions {
  readonly cancel: (place: Place, reason: string) => Promise<unknown>;
  /** How long a call goes on for a client whose connection is lost: it may repeat the call with its key. */
  readonly graceMs: number;
  /** The service ends: calls go on without it. */
  readonly stop: AbortSignal;
  readonly onError: (error: Error) => void;
}

interface Waiting {
  clients: number;
  grace: AbortController | null;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Half an hour: an outage ends, or somebody has noticed it. */
const MOST_TRIES = 64;
/** What is still unknown then has never been accepted. */
const MOST_REFUSALS = 5;

export function createDepartures({ cancel, graceMs, stop, onError }: DeparturesOptions): Departures {
  const waiting = new Map<string, Waiting>();

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

  async function afterGrace(place: Place, grace: AbortSignal): Promise<void> {
    if (!(await elapsed(graceMs, AbortSignal.any([grace, stop])))) return;
    waiting.delete(place.requestId);
    await cancelled(place, 'the connection of the MCP client was lost');
  }

  function leave(place: Place, entry: Waiting, how: Departure): void {
    entry.clients -= 1;
    if (entry.clients > 0) return;
    if (how === 'cancelled') void cancelled(place, 'the MCP client cancelled the call');
    if (how !== 'lost') waiting.delete(place.requestId);
    else {
      entry.grace = new AbortController();
      void afterGrace(place, entry.grace.signal);
    }
  }

  function join(place: Place): (how: Departure) => void {
    const entry = waiting.get(place.requestId) ?? { clients: 0, grace: null };
    waiting.set(place.requestId, entry);
    entry.clients += 1;
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
