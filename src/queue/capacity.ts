// Bounds how much may wait: a full lane or a full service refuses a submission instead of growing without end.
// Must never refuse part of a batch.
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { SweepIndex } from '../journal/sweep-index.ts';
import type { Lanes } from './lanes.ts';
import type { MemoryRoom } from './memory-room.ts';

export interface CapacityOptions {
  lanes: Lanes;
  index: SweepIndex;
  /** The most directives waiting in a lane; null = no limit. */
  maxQueuedIn: (lane: string) => number | null;
  /** The most open directives of the whole service; null = no limit. */
  maxOpen: number | null;
  memory: MemoryRoom;
  now?: () => number;
}

export interface Capacity {
  /**
   * Throws `DirectiveRefused`: `lane_full` when `additions` directives per lane ('' = those without one) do not fit,
   * `service_full` when Redis holds as much as it may.
   */
  reserve(additions: ReadonlyMap<string, number>): Promise<void>;
  /** Throws `DirectiveRefused` (`service_full`). */
  requireMemory(): Promise<void>;
}

/** Counts are read this often; in between, what this process adds is counted along. */
const FRESH_MS = 100;
const RETRY_AFTER_MS = 1_000;

interface Count {
  value: number;
  readAt: number;
}

export function createCapacity(options: CapacityOptions): Capacity {
  const { lanes, index, maxQueuedIn, maxOpen, memory, now = Date.now } = options;
  const counts = new Map<string, Count>();
  const reading = new Map<string, Promise<Count>>();

  /** Whoever comes while a count is read waits for the same answer. */
  function current(name: string, read: () => Promise<number>): Count | Promise<Count> {
    const known = counts.get(name);
    if (known && now() - known.readAt < FRESH_MS) return known;
    const begun = reading.get(name) ?? readAnew(name, read).finally(() => reading.delete(name));
    reading.set(name, begun);
    return begun;
  }

  async function readAnew(name: string, read: () => Promise<number>): Promise<Count> {
    const count = { value: await read(), readAt: now() };
    counts.set(name, count);
    return count;
  }

  async function reserve(additions: ReadonlyMap<string, number>): Promise<void> {
    await memory.require();
    const reserved: [Count, number][] = [];
    for (const [lane, added] of additions) {
      const limit = lane === '' ? null : maxQueuedIn(lane);
      if (limit === null) continue;
      const count = await current(lane, () => lanes.queued(lane));
      if (count.value + added > limit) throw full(`lane ${lane}`, limit);
      reserved.push([count, added]);
    }
    const total = [...additions.values()].reduce((sum, added) => sum + added, 0);
    if (maxOpen !== null && total > 0) {
      const count = await current('', () => index.size());
      if (count.value + total > maxOpen) throw full('the service', maxOpen);
      reserved.push([count, total]);
    }
    for (const [count, added] of reserved) count.value += added;
  }

  return { reserve, requireMemory: () => memory.require() };
}

function full(what: string, limit: number): DirectiveRefused {
  const detail = `${what} holds its limit of ${limit} directives; nothing was accepted, try again later`;
  return new DirectiveRefused(problem('lane_full', { detail, limit, retry_after_ms: RETRY_AFTER_MS }));
}
