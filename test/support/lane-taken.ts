/** A job of a lane with the claim of its directive, as a worker's loop has it, for a test that makes the attempt itself.
 *  It must never take more than one job, nor end it. */
import { prepareScripts } from '../../src/store/scripts.ts';
import type { JobData } from '../../src/queue/job.ts';
import { lanePrefix } from '../../src/queue/lane-registry.ts';
import { askFor, foundIn, type HeldJob, type JobFound } from '../../src/queue/lane-take.ts';
import { LANE } from './journal.ts';
import type { openStore } from './store.ts';

type Opened = Pick<Awaited<ReturnType<typeof openStore>>, 'connection' | 'keys'>;

export const laneBase = ({ keys }: Pick<Opened, 'keys'>, lane = LANE): string =>
  `${lanePrefix(keys.prefix, lane)}:${lane}:`;

/** `times`: how often the command is sent, as after a lost connection; the last answer counts. */
export async function takenFrom(open: Opened, { leaseMs = 60_000, most = 1, times = 1, serial = '' } = {}) {
  const { connection, keys } = open;
  const how = {
    leaseMs,
    keyPrefix: keys.prefix,
    serial,
    owesStart: true,
    sweep: keys.sweep,
    confirm: async () => null,
    mayClaim: () => true,
  };
  const ask = askFor({ lane: LANE, lockMs: 30_000, sweep: keys.sweep }, how);
  const run = prepareScripts(connection);
  let found = foundIn(['kind', 'done']);
  for (let sent = 0; sent < times; sent += 1)
    found = foundIn(await run('job-take', [laneBase(open)], [...ask.words(''), 'place', most]));
  return { ask, found, jobs: found.kind === 'jobs' ? found.jobs : [] };
}

/** The only job, and the claim that came with it. */
export async function takenJob(open: Opened): Promise<[JobData, HeldJob | null]> {
  const { ask, jobs } = await takenFrom(open);
  const [{ data, lock, claim }] = jobs as [JobFound];
  const held = claim && { token: lock, verdict: claim, askedAt: ask.askedAt, end: undefined };
  return [JSON.parse(data) as JobData, held];
}
