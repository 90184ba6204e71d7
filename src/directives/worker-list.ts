// Lists the processes that are there, and asks one of them to take no more work.
// Must never wait for a process: it reads what it was asked with its next beat.
import type { PresentWorker, Workers } from '../store/catalog/workers.ts';
import {
  type ListedWorker,
  takesWork,
  type WorkerDrain,
  type WorkerListing,
} from '../contract/request/worker-listing.ts';
import { notAWorker, unknownWorker } from './read/not-found.ts';

export async function listWorkers(workers: Pick<Workers, 'read'>): Promise<WorkerListing> {
  return { workers: (await workers.read()).map(listed) };
}

/** Refused where there is no such process, and where it has no work that it could stop taking. */
export async function drainWorker(
  workers: Pick<Workers, 'read' | 'setDrain'>,
  id: string,
  drain: boolean,
): Promise<WorkerDrain> {
  if (drain && (await workers.read()).some((each) => each.id === id && !takesWork(each)))
    throw notAWorker(id);
  if (!(await workers.setDrain(id, drain))) throw unknownWorker(id);
  return { id, drain };
}

function listed({ id, roles, state, host, pid, version, lanes, ...worker }: PresentWorker): ListedWorker {
  const [running, concurrency] = (['running', 'concurrency'] as const).map((name) =>
    (lanes ?? []).reduce((sum, lane) => sum + lane[name], 0),
  ) as [number, number];
  return {
    id,
    roles,
    state: state === 'draining' && running === 0 ? 'drained' : state,
    host,
    pid,
    version,
    started_at: new Date(worker.started_at).toISOString(),
    seen_at: new Date(worker.seenAt).toISOString(),
    silent_ms: Math.max(0, Math.round(worker.silentMs)),
    running,
    concurrency,
    lanes:
      lanes?.map((lane) => ({ name: lane.name, concurrency: lane.concurrency, running: lane.running })) ??
      null,
  };
}
