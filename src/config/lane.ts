// What may be configured of a lane: how much at once, how fast, how much may wait, how long an attempt may take.
// Must never say whose lane it is.
import * as z from 'zod';

/** A wait that a timer can hold, milliseconds. */
export const durationMs = z.int().min(1).max(2_147_483_647);

export const laneSchema = z.strictObject({
  /** Calls at once in one worker. Default: 50. */
  concurrency: z.int().min(1).max(10_000).default(50),
  /** Calls at once over all workers. Default: no such limit. */
  global_concurrency: z.int().min(1).max(100_000).optional(),
  /** Calls that begin within `per_ms` milliseconds, over all workers. Default: no such limit. */
  rate: z.strictObject({ max: z.int().min(1), per_ms: durationMs }).optional(),
  /** Directives that may wait; more are refused with 429. Default: 10 000. */
  max_queued: z.int().min(1).default(10_000),
  /** Time limit of an attempt whose directive names none, milliseconds. Default: 30 000. */
  timeout_ms: durationMs.default(30_000),
});

/** The lane of a model provider, whose answers take longer and come in pieces. */
export const modelLaneSchema = z.strictObject({
  ...laneSchema.shape,
  /** Time limit of an attempt whose directive names none, milliseconds. Default: 120 000. */
  timeout_ms: durationMs.default(120_000),
  /** The longest silence between two pieces of a stream, milliseconds. Default: 60 000. */
  idle_timeout_ms: durationMs.default(60_000),
});
