/** The signals of a request as they come: history by pages, then one stream; nothing lost, nothing twice.
 *  Never draws: it passes on signals and a state. */
import type { Signal } from '../../src/contract/signal/signal.ts';
import type { SignalPage } from '../../src/contract/signal/signal-page.ts';
import { call, path, Refused } from './api.ts';
import { denseTaker, type Take } from './dense.ts';
import { readEvents } from './event-source.ts';
import { noteReach, whenBack } from './reach.ts';

export type LiveState = 'loading' | 'live' | 'reconnecting' | 'paused' | 'ended' | 'failed';

export interface LiveListener {
  /** In their order, each once. */
  signals(added: readonly Signal[]): void;
  state(state: LiveState, error: Error | null): void;
}

const PAGE = 1_000;
const HIDDEN_MS = 10_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Follows a request from the sequence after `after`, until it is closed; call the answer to stop. */
export function followRequest(requestId: string, listener: LiveListener, after = 0): () => void {
  const take = denseTaker(after, (fresh) => listener.signals(fresh));
  const log = path`/v1/requests/${requestId}/signals`;
  let failures = 0;
  let running: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  async function follow(signal: AbortSignal): Promise<void> {
    const { isClosed } = await readPages(log, take, signal);
    if (isClosed) return end('ended', null);
    let hasEnded = false;
    const opened = (): void => {
      failures = 0;
      noteReach(true);
      listener.state('live', null);
    };
    const event = (name: string, data: string): void => {
      if (name === 'adjutant.end') hasEnded = true;
      else take([JSON.parse(data) as Signal]);
    };
    const isEmpty = await readEvents(`${log}?after=${take.last()}`, { opened, event }, signal);
    if (hasEnded || isEmpty) end('ended', null);
    else throw new Error('the stream was cut');
  }

  async function begin(): Promise<void> {
    if (isOver || running !== null) return;
    const mine = new AbortController();
    running = mine;
    try {
      await follow(mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return;
      running = null;
      if (isFinal(error)) end('failed', error as Error);
      else retry();
    }
  }

  function retry(): void {
    if (isOver) return;
    listener.state('reconnecting', null);
    timer = setTimeout(() => void begin(), waitMs(failures));
    failures += 1;
  }

  function cut(): void {
    clearTimeout(timer);
    running?.abort();
    running = null;
  }

  function end(state: LiveState, error: Error | null): void {
    leave();
    listener.state(state, error);
  }

  const stopWatching = watchSight({
    hidden() {
      cut();
      listener.state('paused', null);
    },
    seen() {
      if (running !== null) return;
      cut();
      failures = 0;
      void begin();
    },
  });

  function leave(): void {
    isOver = true;
    cut();
    stopWatching();
  }

  listener.state('loading', null);
  void begin();
  return leave;
}

async function readPages(log: string, take: Take, signal: AbortSignal): Promise<{ isClosed: boolean }> {
  for (;;) {
    const page = await call<SignalPage>('GET', `${log}?after=${take.last()}&limit=${PAGE}`, { signal });
    take(page.signals);
    if (page.more !== true) return { isClosed: page.closed };
    // A frame is drawn between two pages.
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** The service knows the question and says no: asking again changes nothing. */
function isFinal(error: unknown): boolean {
  return error instanceof Refused && error.problem.status < 500 && error.problem.status !== 429;
}

/** Half of it by chance: the pages of all tabs do not come back at once. */
function waitMs(failures: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
}

/** A hidden tab closes its connection; a browser has few. */
function watchSight(told: { hidden(): void; seen(): void }): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(told.hidden, HIDDEN_MS);
    else told.seen();
  };
  document.addEventListener('visibilitychange', look);
  // Another call of the page had an answer: there is nothing to wait for.
  const stopHearing = whenBack(() => {
    if (!document.hidden) told.seen();
  });
  return () => {
    stopHearing();
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}
