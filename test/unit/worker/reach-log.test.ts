/** The log lines about an unreachable model provider.
 *  It must not need a provider. */
import { expect, test } from 'vitest';
import { createReachLog } from '../../../src/worker/reach-log.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';

test('an unreachable provider is a line as it begins, one per minute, one as it ends; an MCP server is not logged', () => {
  const clock = { now: 0 };
  const lines: string[] = [];
  const log = createReachLog(
    { ...SILENT, warn: (fields, message) => void lines.push(`${message} ${JSON.stringify(fields)}`) },
    () => clock.now,
  );
  for (; clock.now < 150_000; clock.now += 5_000) {
    log.note('llm.cloud', 5_000);
    log.note('tool.files', 5_000);
  }
  log.note('llm.cloud', null);
  log.note('llm.cloud', null);
  expect(lines).toEqual([
    'the model provider is out of reach: calls go on to their next model, or wait {"provider":"cloud"}',
    'the model provider is still out of reach {"provider":"cloud","for_s":60}',
    'the model provider is still out of reach {"provider":"cloud","for_s":120}',
    'the model provider is in reach again {"provider":"cloud","after_s":150}',
  ]);
});
