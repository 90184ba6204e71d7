/** `adjutant up --traces`: prints the tree of each request of this process when it has ended.
 *  It must never flood the terminal, nor hold up the work: beyond its limits it only counts. */
import { createHttpClient } from '../../client/http-client.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { pause } from '../../platform/lifecycle.ts';
import { ADJUTANT } from '../command-name.ts';
import type { Terminal } from '../terminal.ts';
import { traceFamily } from './trace-family.ts';
import { traceLines } from './trace-lines.ts';

export interface TracePrinter {
  /** Something of the request has ended. Never throws. */
  ended(requestId: string): void;
  /** From now on trees are printed, as the service at `url` knows them. */
  begin(url: string): void;
  stop(): void;
}

interface PrinterLimits {
  /** In `perMs`. */
  readonly trees: number;
  /** Requests that are looked at in `perMs`; a child's is looked at, and drawn in its parent's tree. */
  readonly looks: number;
  /** Limit of lines of one tree. */
  readonly lines: number;
  readonly perMs: number;
}

const LIMITS: PrinterLimits = { trees: 3, looks: 20, lines: 30, perMs: 1_000 };
/** Ratio of the pause after a poll to the time of the poll: the work of the process comes first. */
const REST_PER_LOOK = 4;
/** A small family: a large one has a command. */
const FAMILY = { directives: 50, requests: 10 };

type Reader = Pick<DirectiveClient, 'trace' | 'close'>;

/** `apiKey`: where the service asks for one. */
export function openReader(apiKey: string | null): (url: string) => Reader {
  return (baseUrl) => createHttpClient({ baseUrl, ...(apiKey === null ? {} : { apiKey }) });
}

export function createTracePrinter(
  terminal: Terminal,
  limits: PrinterLimits = LIMITS,
  open: (url: string) => Reader = openReader(null),
): TracePrinter {
  const due = new Set<string>();
  let client: Reader | null = null;
  let isBusy = false;
  const stopped = new AbortController();
  let window = newWindow();
  let timer: NodeJS.Timeout | undefined;

  async function work(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    for (const id of due) {
      due.delete(id);
      const lookedAt = performance.now();
      // oxlint-disable-next-line no-await-in-loop
      if (client !== null) await look(client, id);
      // oxlint-disable-next-line no-await-in-loop
      await pause(REST_PER_LOOK * (performance.now() - lookedAt), stopped.signal);
    }
    isBusy = false;
  }

  async function look(reader: Reader, id: string): Promise<void> {
    try {
      const family = await traceFamily(reader, id, FAMILY);
      const { status, run } = family.trace;
      if (client === null || status !== 'closed' || isChild(run)) return;
      if (window.trees >= limits.trees) return leaveOut();
      window.trees += 1;
      for (const line of traceLines(family, { paint: terminal.paint, mostLines: limits.lines }))
        terminal.out(line);
    } catch {
      // It is no longer kept, or the service is about to stop.
      leaveOut();
    }
  }

  /** Also after the window of the request has ended: the number is printed at the end of the next one. */
  function leaveOut(): void {
    timer ??= setTimeout(endWindow, limits.perMs).unref();
    window.left += 1;
  }

  /** Reports, at the end of a time window, how many trees were left out. */
  function endWindow(): void {
    timer = undefined;
    const { left } = window;
    window = newWindow();
    if (left === 0 || client === null) return;
    const requests = left === 1 ? '1 more request' : `${left} more requests`;
    terminal.out(
      terminal.paint('dim', `… ${requests} ended; \`${ADJUTANT} trace <request>\` draws the tree of one`),
    );
  }

  return {
    ended(id) {
      if (client === null || due.has(id)) return;
      timer ??= setTimeout(endWindow, limits.perMs).unref();
      if (window.looks >= limits.looks || due.size >= limits.looks) return leaveOut();
      window.looks += 1;
      due.add(id);
      void work();
    },
    begin(url) {
      client = open(url);
    },
    stop() {
      void client?.close();
      client = null;
      stopped.abort();
      clearTimeout(timer);
      due.clear();
    },
  };
}

function newWindow(): { trees: number; looks: number; left: number } {
  return { trees: 0, looks: 0, left: 0 };
}

function isChild(run: { parent_request_id: string | null } | undefined): boolean {
  return run !== undefined && run.parent_request_id !== null;
}
