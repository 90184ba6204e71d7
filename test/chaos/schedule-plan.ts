/** The schedules of a run, and their instants by a computation of its own.
 *  It must never ask the service when something fires. */

export type Overlap = 'allow' | 'skip' | 'queue_one' | 'cancel_running';

export interface PlannedSchedule {
  readonly id: string;
  readonly overlap: Overlap;
  readonly everyMs: number;
  /** Whole seconds, milliseconds since the epoch. */
  readonly startsAt: number;
  readonly endsAt: number;
  /** Of its tool: it may be executed once for each instant. */
  readonly isOnce: boolean;
  readonly label: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Shape {
  readonly overlap: Overlap;
  readonly everyS: number;
  readonly tool: string;
  /** Longer than the interval where the overlap matters. */
  readonly delayMs: number;
  readonly cron?: string;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  ticks: { overlap: 'allow', everyS: 2, tool: 'alpha.read', delayMs: 20 },
  even: { overlap: 'allow', everyS: 2, tool: 'beta.once', delayMs: 0, cron: '*/2 * * * * *' },
  skips: { overlap: 'skip', everyS: 2, tool: 'beta.read', delayMs: 2_500 },
  queues: { overlap: 'queue_one', everyS: 3, tool: 'gamma.idempotent', delayMs: 3_500 },
  replaces: { overlap: 'cancel_running', everyS: 4, tool: 'alpha.read', delayMs: 5_000 },
};

/** Much longer than nobody is there, and shorter than the retention. */
const CATCH_UP_MS = 40_000;
const PATIENT = { max_retries: 20, retry_backoff_ms: 300, backoff: 'fixed', deadline_ms: 40_000 };

/** `from`, `until`: milliseconds since the epoch. */
export function planSchedules(seed: string, from: number, until: number): PlannedSchedule[] {
  // Cron's even seconds are the same instants as every two seconds from an even second on.
  const startsAt = Math.ceil(from / 2_000) * 2_000;
  const endsAt = Math.floor(until / 1_000) * 1_000;
  return Object.entries(SHAPES).map(([name, { overlap, everyS, tool, delayMs, cron }]) => {
    const id = `chaos-${seed}-${name}`;
    const label = `schedule/${id}`;
    const isOnce = tool.endsWith('.once');
    const call = { type: 'tool_exec', tool_name: tool, arguments: { label, a: 1, b: 2, delay_ms: delayMs } };
    const [starts_at, ends_at] = [startsAt, endsAt].map((at) => new Date(at).toISOString());
    const everyMs = everyS * 1_000;
    const when = cron === undefined ? { every_ms: everyMs } : { cron };
    const directives = [{ ...call, ...PATIENT, ...(isOnce ? { max_retries: 0 } : {}) }];
    const body = { id, ...when, starts_at, ends_at, overlap, catch_up_ms: CATCH_UP_MS, directives };
    return { id, overlap, everyMs, startsAt, endsAt, isOnce, label, body };
  });
}

/** `madeAt`: when the schedule was made, which may be after its first instants. */
export function instantsOf({ startsAt, endsAt, everyMs }: PlannedSchedule, madeAt: number): number[] {
  const count = Math.max(0, Math.floor((endsAt - startsAt) / everyMs) + 1);
  const all = Array.from({ length: count }, (_, nth) => startsAt + nth * everyMs);
  return all.filter((at) => at >= madeAt);
}
