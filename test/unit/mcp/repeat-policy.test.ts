/** What a tool's annotations say about repeating it.
 *  It must never take silence for permission. */
import { expect, test } from 'vitest';
import { repeatPolicyOf } from '../../../src/mcp/repeat-policy.ts';

test.each([
  [undefined, 'once'],
  [{}, 'once'],
  [{ readOnlyHint: true }, 'read'],
  [{ readOnlyHint: true, idempotentHint: false, destructiveHint: true }, 'read'],
  [{ idempotentHint: true, destructiveHint: true }, 'idempotent'],
  [{ readOnlyHint: false, idempotentHint: false, destructiveHint: false }, 'once'],
  [{ openWorldHint: false }, 'once'],
])('%o is %s', (annotations, effect) => {
  expect(repeatPolicyOf(annotations)).toBe(effect);
});
