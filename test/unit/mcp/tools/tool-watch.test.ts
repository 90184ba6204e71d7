/** When the tools of a session are read again without an announcement.
 *  It must never wait for the real interval. */
import type { Client } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import type { Session } from '../../../../src/mcp/session.ts';
import { rereadMs, watchTools } from '../../../../src/mcp/tools/tool-watch.ts';
import { SILENT } from '../../../../src/platform/telemetry/logger.ts';

test.each([
  ['a server that does not say how long its list holds', 0, 300_000],
  ['a list that holds for a second', 1_000, 30_000],
  ['a list that holds for ten minutes', 600_000, 600_000],
  ['a list that holds for a year', 31_536_000_000, 3_600_000],
])('the interval is within bounds: %s', (_, ttlMs, ms) => {
  expect(rereadMs(ttlMs)).toBe(ms);
});

function watched(read: () => Promise<{ ttlMs: number }>, restMs?: (ttlMs: number) => number) {
  const client = { setNotificationHandler: () => {} } as unknown as Client;
  const session = { client, era: 'legacy' } as Session;
  const offersChanged = (): void => {};
  const watch = watchTools({ session, read, offersChanged, logger: SILENT, ...(restMs && { restMs }) });
  onTestFinished(() => watch.stop());
  return watch;
}

test('a list is read again when its time is over, also after a reading that failed', async () => {
  const asked: number[] = [];
  const thrice = Promise.withResolvers<void>();
  let readings = 0;
  const read = async (): Promise<{ ttlMs: number }> => {
    readings += 1;
    if (readings === 2) throw new Error('the server is away');
    if (readings === 3) thrice.resolve();
    return { ttlMs: 70 };
  };
  const watch = watched(read, (ttlMs) => {
    asked.push(ttlMs);
    return 1;
  });
  await watch.begin();
  await thrice.promise;
  expect(asked.slice(0, 2)).toEqual([70, 70]);
});

test('many calls that are refused read the list once', async () => {
  let readings = 0;
  const watch = watched(async () => {
    readings += 1;
    return { ttlMs: 0 };
  });
  await watch.begin();
  await Promise.all(Array.from({ length: 20 }, async () => watch.doubted()));
  await watch.doubted();
  expect(readings).toBe(2);
});
