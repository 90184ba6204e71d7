/** The loop that looks at gates when something is due there.
 *  It must never need Redis. */
import { afterEach, expect, test } from 'vitest';
import { pause } from '../../../src/platform/lifecycle.ts';
import { createGateNews } from '../../../src/queue/gate-news.ts';
import { createGatePump } from '../../../src/queue/gate-pump.ts';
import type { TendGate } from '../../../src/queue/gate-tending.ts';
import { eventually } from '../../support/eventually.ts';

const warnings: string[] = [];
const heard = ({ name }: Error): void => void warnings.push(name);

afterEach(() => void process.off('warning', heard));

test('what fell due while another gate was looked at is looked at once, without a warning', async () => {
  process.on('warning', heard);
  const looks: string[] = [];
  const tend = (async (lane: string) => {
    looks.push(lane);
    // Longer than until the other one is due.
    if (lane === 'slow') await pause(20);
    return { dueMs: null };
  }) as unknown as TendGate;
  const news = createGateNews();
  const errors: Error[] = [];
  const gate = { lanes: async () => ['quick', 'slow'] };
  const pump = createGatePump({ gate, tend, news, onError: (error) => errors.push(error) });
  await pump.start();
  await eventually(() => looks.length).toBe(2);
  await pause(40);
  news.due('slow', 10);
  news.due('quick', 15);
  await eventually(() => looks.length).toBe(4);
  await pump.stop();
  expect([warnings, errors]).toEqual([[], []]);
});
