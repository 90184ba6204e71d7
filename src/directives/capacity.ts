// Bounds how much may wait: a full lane or a full service refuses a submission instead of growing without end.
// Must never refuse part of a batch.
import { DirectiveRefused, problem } from '../contract/problem.ts';
import { tenantOf } from '../contract/access/tenant.ts';
import {
  type Begins,
  type EnterTenant,
  leaveNothing,
  type LeaveTenant,
} from '../store/limits/tenant-room.ts';
import type { TenantBytes } from '../store/limits/tenant-bytes.ts';
import type { MemoryRoom } from './memory-room.ts';

export interface CapacityOptions {
  /** Directives of a lane that wait to be taken, with those that wait in its gate. */
  queued: (lane: string) => Promise<number>;
  /** All that is open; up to `few` roughly. */
  index: { size(few?: number): Promise<number> };
  /** The most directives waiting in a lane; null = no limit. */
  maxQueuedIn: (lane: string) => number | null;
  /** The most open directives of the whole service; null = no limit. */
  maxOpen: number | null;
  memory: MemoryRoom;
  /** Default: no tenant has a limit. */
  enterTenant?: EnterTenant;
  /** Throws `DirectiveRefused` while the tenant of a request holds as much as it may. Default: none has a limit. */
  requireBytes?: TenantBytes['require'];
  now?: () => number;
}

/** Directives that stay open, of one request. */
export interface Additions {
  requestId: string;
  ids: readonly string[];
  /** Argument of `EnterTenant`. */
  begins?: Begins | undefined;
}

export interface Capacity {
  /**
   * `of`: what is added, by which its tenant's share is counted.
   * Throws `DirectiveRefused`: `lane_full` when `additions` directives per lane ('' = those without one) do not fit,
   * `tenant_full` when its tenant, and `service_full` when Redis holds as much as it may.
   * Resolves to how its tenant's share is freed of what is refused after that, or was there before.
   */
  reserve(additions: ReadonlyMap<string, number>, of?: Additions): Promise<LeaveTenant>;
  /** Throws `DirectiveRefused` (`service_full`, and `tenant_full` for the tenant of the request). */
  requireMemory(requestId?: string): Promise<void>;
}

/** Counts are read this often; in between, what this process adds is counted along. */
const FRESH_MS = 100;
const RETRY_AFTER_MS = 1_000;

interface Count {
  value: number;
  readAt: number;
}

interface Bound {
  /** Key of its count: the lane, '' = the service. */
  name: string;
  what: string;
  limit: number | null;
  added: number;
  read: () => Promise<number>;
}

export function createCapacity(options: CapacityOptions): Capacity {
  const { queued, index, maxQueuedIn, maxOpen, memory, now = Date.now } = options;
  const counts = new Map<string, Count>();
  const reading = new Map<string, Promise<Count>>();

  /** Callers that arrive while a count is read wait for the same answer. */
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

  /** Limit that the additions must fit in. */
  function bounds(additions: ReadonlyMap<string, number>): Bound[] {
    const total = [...additions.values()].reduce((sum, added) => sum + added, 0);
    const ofLanes = [...additions].map(([lane, added]): Bound => {
      const limit = lane === '' ? null : maxQueuedIn(lane);
      return { name: lane, what: `lane ${lane}`, limit, added, read: () => queued(lane) };
    });
    const limit = total > 0 ? maxOpen : null;
    return [
      ...ofLanes,
      { name: '', what: 'the service', limit, added: total, read: () => index.size((limit ?? 0) / 2) },
    ].filter((bound) => bound.limit !== null);
  }

  /** Before all others: what the tenant itself has open is the nearer reason. */
  async function requireShare(of: Additions | undefined): Promise<LeaveTenant> {
    const entered = of && (await options.enterTenant?.(of.requestId, of.ids, of.begins));
    if (of === undefined || entered === undefined) return leaveNothing;
    if (typeof entered === 'number') throw full(`the tenant "${tenantOf(of.requestId)}"`, entered);
    return entered;
  }

  async function reserve(additions: ReadonlyMap<string, number>, of?: Additions): Promise<LeaveTenant> {
    await memory.require();
    if (of !== undefined) await options.requireBytes?.(of.requestId);
    const leave = await requireShare(of);
    try {
      await requireRoom(additions);
    } catch (error) {
      await leave(of?.ids ?? []);
      throw error;
    }
    return leave;
  }

  async function requireRoom(additions: ReadonlyMap<string, number>): Promise<void> {
    const asked = bounds(additions);
    const unread = asked
      .map(({ name, read }) => current(name, read))
      .filter((each) => each instanceof Promise);
    if (unread.length > 0) await Promise.all(unread);
    // Nothing is awaited from here on: whoever waited for the same counts sees what the others added.
    for (const { name, what, limit, added } of asked)
      if (limit !== null && (counts.get(name)?.value ?? 0) + added > limit) throw full(what, limit);
    for (const { name, added } of asked) {
      const count = counts.get(name);
      if (count) count.value += added;
    }
  }

  return {
    reserve,
    async requireMemory(requestId) {
      await memory.require();
      if (requestId !== undefined) await options.requireBytes?.(requestId);
    },
  };
}

function full(what: string, limit: number): DirectiveRefused {
  const detail = `${what} holds its limit of ${limit} directives; nothing was accepted, try again later`;
  return new DirectiveRefused(problem('lane_full', { detail, limit, retry_after_ms: RETRY_AFTER_MS }));
}
