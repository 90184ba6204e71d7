/** How many attempts of a lane ended in the last minute.
 *  It must not wait: the clock is the test's. */
import { expect, test } from 'vitest';
import { NO_REPORTS } from '../../../src/platform/telemetry/reports.ts';
import { countingAttempts, createLaneRates } from '../../../src/worker/lane-rates.ts';

test('counts what ended in the last minute, by lane, and forgets what is older', () => {
  let now = 5_000;
  const rates = createLaneRates(() => now);
  rates.note('tool.a', false);
  rates.note('tool.a', true);
  rates.note('tool.b', false);
  expect(rates.of('tool.a')).toEqual({ attempts: 2, failed: 1 });
  expect(rates.of('__proto__')).toEqual({ attempts: 0, failed: 0 });
  now = 59_999;
  rates.note('tool.a', false);
  expect(rates.of('tool.a')).toEqual({ attempts: 3, failed: 1 });
  now = 60_000;
  expect(rates.of('tool.a')).toEqual({ attempts: 1, failed: 0 });
  now = 3_600_000;
  expect(rates.of('tool.a')).toEqual({ attempts: 0, failed: 0 });
});

// Issue 33: `/v1/lanes` showed 577 attempts for 213 requests of a model, because it counted every pause of a storm.
test('a cancellation is no failure; what is given back without an outcome is no attempt', () => {
  const rates = createLaneRates(() => 0);
  const { meters } = countingAttempts(NO_REPORTS, rates);
  const ended = { lane: 'tool.a', durationMs: 1 };
  meters.attempted({ ...ended, outcome: 'end', errorType: 'cancelled' });
  meters.attempted({ ...ended, outcome: 'release', errorType: 'network' });
  meters.attempted({ ...ended, outcome: 'pause', errorType: 'rate_limited' });
  meters.attempted({ ...ended, outcome: 'ask', errorType: null });
  meters.attempted({ ...ended, outcome: 'retry', errorType: 'timeout' });
  meters.attempted({ ...ended, outcome: 'end', errorType: null });
  expect(rates.of('tool.a')).toEqual({ attempts: 3, failed: 1 });
});
