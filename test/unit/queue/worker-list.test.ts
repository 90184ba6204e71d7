import { expect, test } from 'vitest';
import type { PresentWorker } from '../../../src/catalog/workers.ts';
import { listWorkers } from '../../../src/queue/worker-list.ts';

const PRESENT: PresentWorker = {
  id: 'w1',
  roles: ['worker'],
  state: 'working',
  host: 'host',
  pid: 1,
  version: '0.1.0',
  started_at: 0,
  seenAt: 1_000,
  drain: false,
  lanes: [],
};

const lanes = (...running: number[]) =>
  running.map((each, index) => ({ name: `tool.l${index}`, concurrency: 4, running: each }));

test.each([
  { state: 'working', running: [0, 0], listed: 'working' },
  { state: 'draining', running: [0, 1], listed: 'draining' },
  { state: 'draining', running: [0, 0], listed: 'drained' },
] as const)(
  'a worker that is $state and runs $running is listed as $listed',
  async ({ state, running, listed }) => {
    const present = { ...PRESENT, state, lanes: lanes(...running) };
    const { workers } = await listWorkers({ read: async () => [present] });
    expect(workers).toMatchObject([{ state: listed, concurrency: 8, running: running[0] + running[1] }]);
  },
);
