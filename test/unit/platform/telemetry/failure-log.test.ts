/** A storm of failures becomes a few lines and a count.
 *  It must not wait: the clock is the test's. */
import { expect, test } from 'vitest';
import { createFailureLog } from '../../../../src/platform/telemetry/failure-log.ts';

const TRACE = 'a'.repeat(32);
const failure = (id: string, type = 'network') => ({
  requestId: 'r',
  id,
  traceparent: `00-${TRACE}-${'b'.repeat(16)}-01`,
  type: 'tool_exec',
  lane: 'tool.peer',
  error: { type, message: 'x'.repeat(10_000) },
});

function observed() {
  const lines: { level: string; fields: Record<string, unknown>; message: string }[] = [];
  const line = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void lines.push({ level, fields, message });
  const logger = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  const clock = { now: 0 };
  return { lines, clock, log: createFailureLog(logger, () => clock.now) };
}

test('a failed directive is one bounded line with the ids by which it is found', () => {
  const { lines, log } = observed();
  log.failed(failure('d'));
  expect(lines).toEqual([
    {
      level: 'warn',
      message: 'a directive failed',
      fields: {
        request_id: 'r',
        directive_id: 'd',
        trace_id: TRACE,
        type: 'tool_exec',
        lane: 'tool.peer',
        error: { type: 'network', message: expect.stringMatching(/^x{299}…$/) },
      },
    },
  ]);
});

test('what was cancelled is no warning', () => {
  const { lines, log } = observed();
  log.failed(failure('d', 'cancelled'));
  expect(lines).toMatchObject([{ level: 'info', message: 'a directive was cancelled' }]);
});

test('a storm is twenty lines in ten seconds, and the rest is counted by type', async () => {
  const { lines, clock, log } = observed();
  for (let number = 0; number < 1_000; number += 1)
    log.failed(failure(`d${number}`, number % 2 === 0 ? 'network' : 'timeout'));
  expect(lines).toHaveLength(20);
  clock.now = 10_000;
  log.failed(failure('later'));
  expect(lines).toHaveLength(21);
  await log.stop();
  expect(lines.at(-1)).toEqual({
    level: 'warn',
    message: 'more directives failed: their lines were left out',
    fields: { left_out: 980, by_type: { network: 490, timeout: 490 } },
  });
});

test('types that tools make up are counted together', async () => {
  const { lines, log } = observed();
  for (let number = 0; number < 1_000; number += 1) log.failed(failure('d', `made_up_${number}`));
  await log.stop();
  expect(Object.keys(lines.at(-1)?.fields['by_type'] ?? {}).length).toBeLessThanOrEqual(21);
});

test('refusals have a limit of their own', () => {
  const { lines, log } = observed();
  for (let number = 0; number < 100; number += 1) log.failed(failure('d'));
  log.refused({
    method: 'GET',
    path: '/v1/requests/r',
    status: 404,
    code: 'not_found',
    detail: 'gone',
    requestId: 'r',
    traceparent: null,
  });
  expect(lines.at(-1)).toMatchObject({
    level: 'info',
    fields: { request_id: 'r', method: 'GET', path: '/v1/requests/r', status: 404, code: 'not_found' },
  });
});
