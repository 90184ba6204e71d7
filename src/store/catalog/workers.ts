// The processes of an installation: their roles, the lanes that they serve, their load, their version. Never decides
// about work without a worker, nor needs more of an entry than it understands.
import * as z from 'zod';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { FORGOTTEN_AFTER_MS } from './presence.ts';
import { recent, type Recent } from './recent.ts';

/** Interval at which a process reports itself. */
export const BEAT_MS = 2_000;
/** One that is silent for so long, by the clock of Redis, is gone: longer than a machine that is short of time is silent. */
const GONE_AFTER_MS = 30_000;
/** A longer entry is written without its lanes: it then serves whatever it is asked about. */
const LARGEST_ENTRY_BYTES = 65_536;

/** How long the id of a process that is gone is known, and how often one that lives says it again; milliseconds. */
const NAMED_MS = 35 * 86_400_000;
const NAMED_EVERY_MS = 3_600_000;
/** Processes of one trace. */
const MOST_NAMED = 100;

const count = z.int().min(0);

/** Attempts that ended in the last minute. */
const recentSchema = z.object({ attempts: count, failed: count });

/** Unknown members of a newer version are skipped, and its roles and states may be others. */
const entrySchema = z.object({
  roles: z.array(z.string().max(64)).max(64),
  state: z.string().max(64),
  host: z.string().max(256),
  pid: z.int(),
  version: z.string().max(64),
  /** Milliseconds since the epoch, by the clock of the process. */
  started_at: z.number(),
  /** null: more than fit. */
  lanes: z
    .array(
      z.object({ name: z.string(), concurrency: count, running: count, recent: recentSchema.optional() }),
    )
    .nullable(),
});

/** The report of a process. `state`: `working`, `draining` (on request) or `stopping`. */
export type WorkerEntry = z.infer<typeof entrySchema>;

export interface PresentWorker extends WorkerEntry {
  id: string;
  /** Milliseconds since the epoch, by the clock of Redis. */
  seenAt: number;
  /** How long ago that is, milliseconds, by the same clock. */
  silentMs: number;
  /** It was asked to take no more work, and may not have read that yet. */
  drain: boolean;
}

export type Workers = ReturnType<typeof createWorkers>;

export function createWorkers(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);

  let namedAt = -Infinity;

  /** Keeps the id for readers of old attempts. */
  async function keepName(id: string, code: string): Promise<void> {
    const now = performance.now();
    if (now - namedAt < NAMED_EVERY_MS) return;
    namedAt = now;
    await connection.set(keys.process(code), id, 'PX', NAMED_MS);
  }

  /** Ids of processes of the last month by their codes. */
  async function names(codes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const some = codes.slice(0, MOST_NAMED);
    const ids = await Promise.all(some.map(async (code) => connection.get(keys.process(code))));
    return new Map(some.flatMap((code, at) => (ids[at] ? [[code, ids[at]] as const] : [])));
  }

  /** Whether the process is asked to take no more work. `code`: the one that its claims have. */
  async function beat(id: string, entry: WorkerEntry, code = ''): Promise<boolean> {
    if (code !== '') keepName(id, code).catch(() => (namedAt = -Infinity));
    const whole = JSON.stringify(entry);
    const json = whole.length > LARGEST_ENTRY_BYTES ? JSON.stringify({ ...entry, lanes: null }) : whole;
    const [draining] = await run('worker-beat', [keys.workers], [id, json, FORGOTTEN_AFTER_MS]);
    return draining === 1;
  }

  /** Removes the process at once, and the request to drain it. */
  async function leave(id: string): Promise<void> {
    await connection.hdel(keys.workers, id, `drain:${id}`);
  }

  /** The processes, by host and start. */
  async function read(): Promise<PresentWorker[]> {
    const reply = await run('worker-list', [keys.workers], [GONE_AFTER_MS, FORGOTTEN_AFTER_MS]);
    const found: PresentWorker[] = [];
    for (let index = 0; index < reply.length; index += 5) {
      const [id, seenAt, silentMs, json, drain] = reply.slice(index, index + 5);
      const entry = entrySchema.safeParse(jsonOf(String(json)));
      if (entry.success)
        found.push({
          ...entry.data,
          id: String(id),
          seenAt: Number(seenAt),
          silentMs: Number(silentMs),
          drain: drain === 1,
        });
    }
    return found.toSorted((a, b) => a.host.localeCompare(b.host) || a.started_at - b.started_at);
  }

  /** False: there is no such process. */
  async function setDrain(id: string, drain: boolean): Promise<boolean> {
    const [verdict] = await run('worker-drain', [keys.workers], [id, drain ? 1 : 0]);
    return verdict === 'asked';
  }

  const known: Recent<PresentWorker[]> = recent(read);
  return { beat, leave, read, names, setDrain, known };
}

/** One that misses so many beats may have died, or stand still: what it ran may run elsewhere. */
export const SILENT_MS = 3 * BEAT_MS;

/** Those that take jobs of the lane, and were heard of late. */
export function heardIn(lane: string, workers: readonly PresentWorker[]): PresentWorker[] {
  return workers.filter((worker) => worker.silentMs <= SILENT_MS && isServed(lane, [worker]));
}

/** How many of the lane one takes at once; undefined: it serves more lanes than it lists. */
export function placesOf(lane: string, { lanes }: Pick<WorkerEntry, 'lanes'>): number | undefined {
  return lanes?.find(({ name }) => name === lane)?.concurrency;
}

/** Whether one of them takes jobs of the lane. */
export function isServed(lane: string, workers: readonly WorkerEntry[]): boolean {
  return workers.some(
    ({ state, lanes }) =>
      state === 'working' && (lanes === null || lanes.some((served) => served.name === lane)),
  );
}

/** undefined: no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
