// The processes of an installation as a reader sees them: what each serves, and how busy it is.
// Must never be used for a decision: it is some seconds old.
import * as z from 'zod';
import { identifierSchema, instantSchema } from './identifiers.ts';

const count = z.int().min(0);

export const listedWorkerSchema = z.object({
  /** New with each start. */
  id: identifierSchema,
  /** Of `api`, `engine` and `worker`; a later version may name others. */
  roles: z.array(z.string()),
  /**
   * `working`; `draining`: it takes no more work, as asked, and still has some; `drained`: it has none; `stopping`: it ends
   * what it has, then itself.
   */
  state: z.string(),
  host: z.string(),
  pid: z.int(),
  version: z.string(),
  started_at: instantSchema,
  seen_at: instantSchema,
  /** How long ago that is, by the clock of Redis. A process says every 2 s that it is there; its other members are as old. */
  silent_ms: count.optional(),
  /** What runs here now, of at most `concurrency`. */
  running: count,
  concurrency: count,
  /** null: more than can be shown. */
  lanes: z.array(z.object({ name: z.string(), concurrency: count, running: count })).nullable(),
});

export const workerListingSchema = z.object({ workers: z.array(listedWorkerSchema) });

/** What a process was asked for; it reads that within some seconds. `drain` false: it works again. */
export const workerDrainSchema = z.object({ id: identifierSchema, drain: z.boolean() });

/** Whether it can be drained: an API alone takes no work, and a role of a later version may. */
export function takesWork({ roles }: { readonly roles: readonly string[] }): boolean {
  return roles.some((role) => role !== 'api');
}

export type ListedWorker = z.infer<typeof listedWorkerSchema>;
export type WorkerListing = z.infer<typeof workerListingSchema>;
export type WorkerDrain = z.infer<typeof workerDrainSchema>;
