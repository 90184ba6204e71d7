// The configuration of a lane: concurrency, rate, queue length, time limit.
// Must never know which server or provider the lane belongs to.
import * as z from 'zod';
import { notes } from './notes.ts';

/** A wait that a timer can hold, milliseconds. */
export const durationMs = z
  .int('must be a whole number of milliseconds, as 86400000 for a day')
  .min(1)
  .max(2_147_483_647);

const rateSchema = z.strictObject({
  max: z.int().min(1).register(notes, { description: 'Calls that begin within `per_ms`.', unit: 'calls' }),
  per_ms: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .register(notes, { description: 'The time that `max` is for.', unit: 'ms' }),
});

export const laneSchema = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .register(notes, { description: 'Calls at once in one worker.', unit: 'calls' }),
  global_concurrency: z.int().min(1).max(100_000).optional().register(notes, {
    description: 'Calls at once over all workers. The tightest value of all workers holds.',
    unit: 'calls',
    fallback: 'no such limit',
  }),
  rate: rateSchema.optional().register(notes, {
    description: 'Calls that begin within a time, over all workers. The tightest value of all workers holds.',
    fallback: 'no such limit',
  }),
  max_queued: z.int().min(1).default(10_000).register(notes, {
    description: 'Directives that may wait in the lane; more are refused with 429.',
    unit: 'directives',
  }),
  timeout_ms: durationMs
    .default(30_000)
    .register(notes, { description: 'Limit of an attempt whose directive has none of its own.', unit: 'ms' }),
});

/** The lane of a model provider: answers take longer and are streamed. */
export const modelLaneSchema = z.strictObject({
  ...laneSchema.shape,
  timeout_ms: durationMs
    .default(120_000)
    .register(notes, { description: 'Limit of an attempt whose directive has none of its own.', unit: 'ms' }),
  idle_timeout_ms: durationMs
    .default(60_000)
    .register(notes, { description: 'Longest pause between two chunks of a stream.', unit: 'ms' }),
});
