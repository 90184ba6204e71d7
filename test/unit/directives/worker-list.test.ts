import { expect, test } from 'vitest';
import type { PresentWorker } from '../../../src/store/catalog/workers.ts';
import { drainWorker, listWorkers } from '../../../src/directives/queue-client.ts';

const PRESENT: PresentWorker = {
  id: 'w1',
  roles: ['worker'],
  state: 'working',
  host: 'host',
  pid: 1,
  version: '0.1.0',
  started_at: 0,
  seenAt: 1_000,
  silentMs: 7_000.4,
  drain: false,
  lanes: [],
};

const lanes = (...running: number[]) =>
  running.map((each, index) => ({ name: `tool.l${index}`, concurrency: 4, running: each }));

test.each([
  { state: 'working', running: [0, 0], listed: 'working' },
  { state: 'draining', running: [0, 1], listed: 'draining' },
  { state: 'draining', running: [0, 0], listed: 'drained' },
  { state: 'stopping', running: [0, 0], listed: 'stopping' },
] as const)(
  'a worker that is $state and runs $running is listed as $listed',
  async ({ state, running, listed }) => {
    const present = { ...PRESENT, state, lanes: lanes(...running) };
    const { workers } = await listWorkers({ read: async () => [present] });
    expect(workers).toMatchObject([
      { silent_ms: 7_000, state: listed, concurrency: 8, running: running[0] + running[1] },
    ]);
  },
);

test('an API alone is not asked to drain, but one that also works is; taking a wish back is refused to nobody', async () => {
  const asked: [string, boolean][] = [];
  const present = [
    { ...PRESENT, id: 'a', roles: ['api'] },
    { ...PRESENT, id: 'u', roles: ['api', 'worker'] },
  ];
  const workers = {
    read: async () => present,
    setDrain: async (id: string, drain: boolean) => asked.push([id, drain]) > 0,
  };
  await expect(drainWorker(workers, 'a', true)).rejects.toMatchObject({
    problem: { code: 'not_found', detail: 'process "a" is an API: it takes no work that could be drained' },
  });
  await drainWorker(workers, 'u', true);
  await drainWorker(workers, 'a', false);
  expect(asked).toEqual([
    ['u', true],
    ['a', false],
  ]);
});
