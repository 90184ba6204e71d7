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
  paused: z.boolean(),
  workers: count,
  concurrency: count.nullable(),
  /** The server is unreachable: workers take nothing from the lane until then, and then try again. */
  blocked_until: instantSchema.nullable(),
  /** Why its directives do not go on; absent: they do. */
  waits: waitSchema.optional(),
});

export const laneListingSchema = z.object({ lanes: z.array(listedLaneSchema) });

export type ListedLane = z.infer<typeof listedLaneSchema>;
export type LaneListing = z.infer<typeof laneListingSchema>;
