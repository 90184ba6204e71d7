/** The wait before the next attempt to reach a server.
 *  It must never exceed its cap. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reconnectDelayMs } from '../../../../src/mcp/transport/reconnect-delay.ts';

test('the first time is at once, then it doubles up to 30 seconds', () => {
  expect([0, 1, 2, 3, 9, 10, 5_000].map((failures) => reconnectDelayMs(failures, 1))).toEqual([
    0, 100, 200, 400, 25_600, 30_000, 30_000,
  ]);
});

test('half of it is random', () => {
  expect(reconnectDelayMs(3, 0)).toBe(200);
  fc.assert(
    fc.property(
      fc.nat(),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const full = reconnectDelayMs(failures, 1);
        const delay = reconnectDelayMs(failures, random);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(full / 2));
        expect(delay).toBeLessThanOrEqual(30_000);
      },
    ),
  );
});
