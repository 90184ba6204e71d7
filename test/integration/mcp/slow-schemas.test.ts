/** Servers whose schemas take too long to check: each fails its own calls, and no others.
 *  It must never pass by luck: every test ends with a call that works. */
import { expect, onTestFinished, test } from 'vitest';
import { createSchemaChecks } from '../../../src/platform/json-schema/schema-checks.ts';
import { failureOf, openPoolWith, textOf } from '../../support/mcp-pool.ts';
import { namedTools } from '../../support/mcp-servers.ts';

const LIMIT_MS = 1_000;
const PATTERN = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
const UNIQUE = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
const SLOW_TEXT = `${'a'.repeat(40)}!`;

const TOOLS = [
  { name: 'pattern', inputSchema: PATTERN },
  { name: 'unique', inputSchema: UNIQUE },
  { name: 'answers', outputSchema: PATTERN, result: { structuredContent: { text: SLOW_TEXT } } },
  { name: 'fits', outputSchema: PATTERN, result: { structuredContent: { text: 'aaa' } } },
  'plain',
];

function openSlow() {
  const schemas = createSchemaChecks({ limitMs: LIMIT_MS });
  onTestFinished(() => schemas.stop());
  return openPoolWith({ schemas }, namedTools(TOOLS));
}

test.each([
  ['pattern', { text: SLOW_TEXT }],
  ['unique', { list: Array.from({ length: 60_000 }, (_, n) => ({ n })) }],
])('arguments that cannot be checked in time are refused: %s', async (tool, args) => {
  const { call } = openSlow();
  await call('plain');
  const [slow, plain] = [call(tool, args), call('plain')];
  expect(textOf(await plain)).toBe('plain');
  expect(failureOf(await slow)).toMatchObject({
    sent: false,
    error: {
      type: 'validation_error',
      message: `The arguments could not be checked against the input schema of the tool: the check took longer than ${LIMIT_MS} ms`,
      retryable: false,
    },
  });
  expect(textOf(await call('pattern', { text: 'aaa' }))).toBe('pattern');
});

test('a result that cannot be checked in time is a failure', async () => {
  const { call } = openSlow();
  expect(failureOf(await call('answers'))).toMatchObject({
    sent: true,
    error: { type: 'invalid_result', details: { reason: `the check took longer than ${LIMIT_MS} ms` } },
  });
  expect(textOf(await call('fits'))).toBe('fits');
});

test('a call that is cancelled while its arguments are checked was not made', async () => {
  const { call } = openSlow();
  await call('plain');
  const abort = new AbortController();
  const slow = call('pattern', { text: SLOW_TEXT }, { signal: abort.signal });
  abort.abort();
  expect(failureOf(await slow)).toMatchObject({ sent: false, error: { type: 'cancelled' } });
  expect(textOf(await call('plain'))).toBe('plain');
});
