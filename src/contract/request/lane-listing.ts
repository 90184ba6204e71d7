// The lanes and how busy they are, as a reader sees them.
// Must never be used for a decision: it is a snapshot, old when it arrives.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';
import { waitSchema } from './waiting.ts';

const count = z.int().min(0);

/** Schema of a lane in a list. */
export const listedLaneSchema = z.object({
  name: z.string().describe('Name of the lane.'),
  waiting: count.describe('Number of directives that wait for a worker.'),
  active: count.describe('Number of directives in flight.'),
  delayed: count.describe('Number of directives that wait for a retry or a delay.'),
  later: count
    .optional()
    .describe('Number of directives and runs whose start instant lies ahead. Absent: 0.'),
  gated: count
    .optional()
    .describe(
      'Number of directives held back by a concurrency or rate limit, or by fair sharing. Absent: 0.',
    ),
  paused: z.boolean().describe('Whether the lane is paused.'),
  workers: count.describe('Number of workers that serve the lane.'),
  concurrency: count.nullable().describe('Slots of all its workers together; null: unknown.'),
  blocked_until: instantSchema
    .nullable()
    .describe(
      'Instant (UTC) until which workers take nothing because the server is unreachable; null: not blocked.',
    ),
  waits: waitSchema
    .optional()
    .describe('Reason why its directives make no progress. Absent: they make progress.'),
  oldest_at: instantSchema
    .nullable()
    .optional()
    .describe('Instant (UTC) at which the longest waiting directive was enqueued; null: no directive waits.'),
  recent: z
    .object({
      attempts: count.describe('Number of attempts that ended.'),
      failed: count.describe('Number of attempts that failed.'),
    })
    .optional()
    .describe('Attempts of the last minute, as the workers last reported. Absent: no worker reports.'),
  programs: z
    .object({
      asked_at: instantSchema
        .nullable()
        .describe(
          'Instant (UTC) at which a program last asked for work, by the clock of Redis, to the second; null: none has in the last day.',
        ),
      waiting: count.describe('Number of directives in flight that wait for a program to take their work.'),
    })
    .optional()
    .describe(
      'Programs that execute the remote directive type of the lane. Absent: the type is not remote, or was not used in the last day.',
    ),
  cools_until: instantSchema
    .optional()
    .describe(
      'Instant (UTC) until which a rate limited model provider receives no calls. Absent: not rate limited.',
    ),
});

/** Schema of the list of lanes. */
export const laneListingSchema = z.object({
  lanes: z.array(listedLaneSchema).describe('Lanes, one for each server and provider.'),
});

/** Lane in a list. */
export type ListedLane = z.infer<typeof listedLaneSchema>;
/** List of lanes. */
export type LaneListing = z.infer<typeof laneListingSchema>;
