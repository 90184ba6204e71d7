// The processes of an installation as a reader sees them: what each serves, and how busy it is.
// Must never be used for a decision: it is some seconds old.
import * as z from 'zod';
import { identifierSchema, instantSchema } from '../identifiers.ts';

const count = z.int().min(0);

/** Schema of a process in a list. */
export const listedWorkerSchema = z.object({
  id: identifierSchema.describe('Id of the process, new with each start.'),
  roles: z
    .array(z.string())
    .describe('Roles of the process: `api`, `engine`, `worker`. A later version may add others.'),
  state: z
    .string()
    .describe(
      'State of the process. `working`. `draining`: takes no more work, and still has some. `drained`: has none left. `stopping`: finishes its work, then exits.',
    ),
  host: z.string().describe('Name of the host.'),
  pid: z.int().describe('Process id.'),
  version: z.string().describe('Version of the service.'),
  started_at: instantSchema.describe('Instant (UTC) of the start.'),
  seen_at: instantSchema.describe('Instant (UTC) of the last heartbeat.'),
  silent_ms: count
    .optional()
    .describe(
      'Age of the last heartbeat in milliseconds, by the clock of Redis; heartbeats follow every 2 s. Other fields are as old.',
    ),
  running: count.describe('Number of directives in flight in the process, at most `concurrency`.'),
  concurrency: count.describe('Slots of the process.'),
  lanes: z
    .array(
      z.object({
        name: z.string().describe('Name of the lane.'),
        concurrency: count.describe('Slots for the lane.'),
        running: count.describe('Number of directives in flight in the lane.'),
      }),
    )
    .nullable()
    .describe('Lanes that the process serves; null: more than can be listed.'),
});

/** Schema of the list of processes. */
export const workerListingSchema = z.object({
  workers: z.array(listedWorkerSchema).describe('Processes of the service.'),
});

/** Schema of the answer to a drain, which the process reads within seconds. `drain` false resumes its work. */
export const workerDrainSchema = z.object({
  id: identifierSchema.describe('Id of the process.'),
  drain: z.boolean().describe('Whether the process drains.'),
});

/** Whether it can be drained: an API alone takes no work, and a role of a later version may. */
export function takesWork({ roles }: { readonly roles: readonly string[] }): boolean {
  return roles.some((role) => role !== 'api');
}

/** Process in a list. */
export type ListedWorker = z.infer<typeof listedWorkerSchema>;
/** List of the processes of an installation. */
export type WorkerListing = z.infer<typeof workerListingSchema>;
/** Answer to a drain of a process. */
export type WorkerDrain = z.infer<typeof workerDrainSchema>;
