/** Detects that the list of tools has changed, while a client is subscribed. Never reads the catalog without a
 *  subscriber, nor notifies twice of one change. */
import { createHash, hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { descriptor, type Offer, type OfferedTools } from './offered-tools.ts';

/** Calls back whenever the catalog may have changed. */
export type CatalogHints = (mayHaveChanged: () => void) => void;

export interface ListWatchOptions {
  /** The list as it is now. */
  readonly read: () => Promise<OfferedTools>;
  /** Default: there are none, and the list is read more often. */
  readonly hints?: CatalogHints | undefined;
  /** The service ends. */
  readonly stop: AbortSignal;
  /** Changes come in groups: how long they are gathered, milliseconds. Default: 1 000. */
  readonly gatherMs?: number;
}

export type ListKind = 'tools' | 'resources' | 'prompts';

export interface ListWatch {
  /** Returns what ends it, once or more often. */
  listen(changed: (list: ListKind) => void): () => void;
}

const GATHER_MS = 1_000;
/** Interval of checks with hints, milliseconds: servers without a worker disappear without one. */
const WITH_HINTS_MS = 60_000;
const WITHOUT_HINTS_MS = 5_000;

export function createListWatch({ read, hints, stop, gatherMs = GATHER_MS }: ListWatchOptions): ListWatch {
  const listeners = new Set<(list: ListKind) => void>();
  let known: Digests | null = null;
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Infinity;
  let isHinted = false;
  let checking = Promise.resolve();
  const everyMs = hints === undefined ? WITHOUT_HINTS_MS : WITH_HINTS_MS;

  async function check(): Promise<void> {
    dueAt = Infinity;
    if (listeners.size === 0 || stop.aborted) return;
    const now = await read().then(digestsOf, () => null);
    const others = known === null || now === null ? [] : otherLists(known, now);
    known = now ?? known;
    for (const list of others) for (const changed of listeners) changed(list);
    look(everyMs);
  }

  /** One after the other: an older list never counts as the newer one. */
  function checkNext(): void {
    checking = checking.then(check, check);
  }

  /** One check is planned at a time: the sooner one, so that a storm of hints does not put it off. */
  function look(afterMs: number): void {
    const at = performance.now() + afterMs;
    if (listeners.size === 0 || stop.aborted || at >= dueAt) return;
    clearTimeout(timer);
    timer = setTimeout(checkNext, afterMs).unref();
    dueAt = at;
  }

  function begin(): void {
    if (!isHinted) hints?.(() => look(gatherMs));
    isHinted = true;
    known = null;
    checkNext();
  }

  return {
    listen(changed) {
      listeners.add(changed);
      if (listeners.size === 1) begin();
      return () => void listeners.delete(changed);
    },
  };
}

/**
 * Digests of a tool as a client sees it, except for its name. The catalog returns the same object until its server
 * changes.
 */
const digests = new WeakMap<Offer, string>();
/** Calls of other clients do not wait longer for a list of megabytes, milliseconds. */
const STEP_MS = 5;

type Digests = Readonly<Record<ListKind, string>>;

function otherLists(before: Digests, now: Digests): ListKind[] {
  return (['tools', 'resources', 'prompts'] as const).filter((list) => before[list] !== now[list]);
}

async function digestsOf(offered: OfferedTools): Promise<Digests> {
  return {
    tools: await digestOf(offered),
    resources: revisionsOf(offered, 'resources'),
    prompts: revisionsOf(offered, 'prompts'),
  };
}

/** The lists themselves stay at their servers. */
function revisionsOf({ offering }: OfferedTools, list: 'resources' | 'prompts'): string {
  return JSON.stringify(
    offering.filter(({ offers }) => offers[list]).map(({ name, offers }) => [name, offers.revision]),
  );
}

async function digestOf({ offers }: Pick<OfferedTools, 'offers'>): Promise<string> {
  const list = createHash('sha256');
  let begunAt = performance.now();
  for (const [name, offer] of offers) {
    list.update(JSON.stringify([name, digestOfOffer(offer)]));
    if (performance.now() - begunAt < STEP_MS) continue;
    await nextTurn();
    begunAt = performance.now();
  }
  return list.digest('hex');
}

function digestOfOffer(offer: Offer): string {
  const digest = digests.get(offer) ?? hash('sha256', JSON.stringify(descriptor('', offer)));
  digests.set(offer, digest);
  return digest;
}
