// When a directive or a run begins, where its caller says so: after a delay or at an instant, and by when at the latest.
// Must never read a clock: instants are computed by the clock of Redis, when it accepts.
import * as z from 'zod';

const DAY_MS = 86_400_000;

/** Maximum of `delay_ms`, `run_at` and `start_by_ms`, in milliseconds. */
export const LONGEST_DELAY_MS = 365 * DAY_MS;

/** Schemas of the fields that postpone a start. */
export const laterFields = {
  delay_ms: z
    .int()
    .min(0)
    .max(LONGEST_DELAY_MS)
    .optional()
    .describe(
      'Delay before the earliest start, in milliseconds, 0 to 31,536,000,000 (one year). Excludes `run_at`. Default: 0.',
    ),
  run_at: z.iso
    .datetime({ offset: true, error: 'must be an instant, as in 2027-03-28T01:00:00Z' })
    .optional()
    .describe(
      'Earliest start as RFC 3339 with an offset; a past instant means now. Excludes `delay_ms`. Default: now.',
    ),
  start_by_ms: z
    .int()
    .min(1)
    .max(LONGEST_DELAY_MS)
    .optional()
    .describe(
      'Time between the earliest start and the latest start, in milliseconds, 1 to 31,536,000,000; after it the directive or run ends as `expired`. Default: only its deadline counts.',
    ),
};

/** Fields that postpone a start. */
export type LaterFields = z.output<z.ZodObject<typeof laterFields>>;

/** Rule that excludes `delay_ms` beside `run_at`. */
export const LATER_RULE = { path: ['run_at'], message: 'either delay_ms or run_at, not both' };
/** The same rule for readers of the JSON Schema. */
export const LATER_RULE_JSON = { not: { required: ['delay_ms', 'run_at'] } };

/** Whether at most one of `delay_ms` and `run_at` is present. */
export function hasOneBegin({ delay_ms, run_at }: LaterFields): boolean {
  return delay_ms === undefined || run_at === undefined;
}

/** `when`: `d<milliseconds from now>` or `t<milliseconds since the epoch>`; null: at once. One of the two is not null. */
export interface Later {
  when: string | null;
  startByMs: number | null;
}

/** null: it begins as soon as it can. */
export function laterOf({ delay_ms = 0, run_at, start_by_ms }: LaterFields): Later | null {
  const at = run_at === undefined ? null : `t${Math.max(0, Date.parse(run_at))}`;
  const when = at ?? (delay_ms > 0 ? `d${delay_ms}` : null);
  return when === null && start_by_ms === undefined ? null : { when, startByMs: start_by_ms ?? null };
}

/** `now`: about; the bound keeps out mistakes. */
export function isTooFar({ run_at }: LaterFields, now: number): boolean {
  return run_at !== undefined && Date.parse(run_at) > now + LONGEST_DELAY_MS + DAY_MS;
}
