/** The list of lanes, from what Redis and the workers say.
 *  It must not ask either. */
import { expect, test } from 'vitest';
import type { PresentWorker } from '../../../src/store/catalog/workers.ts';
import { listLanes, type LaneListParts } from '../../../src/queue/lane-list.ts';

const COUNTS = { waiting: 0, delayed: 0, paused: false, globalConcurrency: null, workers: 2 };

function workerWith(running: number): PresentWorker {
  const lanes = [{ name: 'custom.own', concurrency: 5, running }];
  return { id: 'w', roles: ['worker'], state: 'working', lanes, silentMs: 0 } as unknown as PresentWorker;
}

/** `jobs`: that BullMQ counts as active. */
function partsOf(jobs: number, workers: readonly PresentWorker[]): LaneListParts {
  const nothing = { current: async () => new Map(), recheck: async () => new Map() };
  return {
    catalog: {
      servers: nothing,
      models: { current: async () => ({ providers: new Map() }) },
      published: {
        tools: { read: async () => [] },
        models: { read: async () => ({ blockedUntil: new Map() }) },
      },
      workers: { known: { recheck: async () => workers, current: async () => workers } },
      programs: async () => null,
    },
    lanes: {
      counts: async () => ({ ...COUNTS, active: jobs }),
      oldestAt: async () => null,
      coolsForMs: async () => 0,
      heldBack: async () => null,
      load: async () => ({ waiting: 0, active: jobs }),
    },
    kinds: ['own'],
  } as unknown as LaneListParts;
}

test.each([
  ['what runs without a job is counted', 0, [workerWith(2), workerWith(1)], 3],
  ['jobs that the workers have not reported yet are counted', 4, [workerWith(1)], 4],
  ['what a silent worker ran is not', 1, [{ ...workerWith(1), silentMs: 6_000 }, workerWith(1)], 1],
  ['a worker that does not say what it serves adds nothing', 1, [{ ...workerWith(9), lanes: null }], 1],
])('%s', async (_name, jobs, workers, active) => {
  const { lanes } = await listLanes(partsOf(jobs, workers));
  expect(lanes.find(({ name }) => name === 'custom.own')).toMatchObject({ active });
});

test('the attempts of the last minute are those of all workers that count them', async () => {
  const counting = (recent: object | undefined): PresentWorker => {
    const lanes = [{ name: 'custom.own', concurrency: 5, running: 0, recent }];
    return { ...workerWith(0), lanes } as unknown as PresentWorker;
  };
  const own = async (...workers: PresentWorker[]) =>
    (await listLanes(partsOf(0, workers))).lanes.find(({ name }) => name === 'custom.own');
  const both = await own(counting({ attempts: 5, failed: 2 }), counting({ attempts: 3, failed: 0 }));
  expect(both?.recent).toEqual({ attempts: 8, failed: 2 });
  expect((await own(counting(undefined)))?.recent).toBeUndefined();
});

test.each([
  ['with something in it is listed', 1, 'default', 1],
  ['with nothing in it is not', 0, 'default', 0],
  ['is not for tenants: its name is the operator’s', 1, 'acme', 0],
])('a lane of deliveries %s', async (_name, jobs, tenant, listed) => {
  const lanes = [{ name: 'webhook.alarm', concurrency: 5, running: 0 }];
  const worker = { ...workerWith(0), lanes } as unknown as PresentWorker;
  const listing = await listLanes({ ...partsOf(jobs, [worker, worker]), tenant });
  expect(listing.lanes.filter(({ name }) => name === 'webhook.alarm')).toHaveLength(listed);
});
