// The lanes and how busy they are, as a reader sees them.
// Must never be used for a decision: it is a snapshot, old when it arrives.
import * as z from 'zod';
import { instantSchema } from './identifiers.ts';
import { waitSchema } from './waiting.ts';

const count = z.int().min(0);

export const listedLaneSchema = z.object({
  name: z.string(),
  waiting: count,
  active: count,
  delayed: count,
  /** Directives and runs whose instant to begin has not come; absent: there are none. */
  later: count.optional(),
  /** Directives that wait for their turn, or for room under a limit by key; absent: there are none. */
  gated: count.optional(),
  paused: z.boolean(),
  workers: count,
  concurrency: count.nullable(),
  /** The server is unreachable: workers take nothing from the lane until then, and then try again. */
  blocked_until: instantSchema.nullable(),
  /** Why its directives do not go on; absent: they do. */
  waits: waitSchema.optional(),
  /** When what waits longest was enqueued; null: nothing waits. */
  oldest_at: instantSchema.nullable().optional(),
  /** Attempts that ended in the last minute, and those of them that failed, as its workers last said; absent: none of them does. */
  recent: z.object({ attempts: count, failed: count }).optional(),
  /** Of a model provider that has asked to slow down: until when none of its models is asked. Absent: they are. */
  cools_until: instantSchema.optional(),
});

export const laneListingSchema = z.object({ lanes: z.array(listedLaneSchema) });

export type ListedLane = z.infer<typeof listedLaneSchema>;
export type LaneListing = z.infer<typeof laneListingSchema>;
