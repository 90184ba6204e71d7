/** The repeat policy from a tool's annotations.
 *  It must never treat a missing annotation as permission. */
import { expect, test } from 'vitest';
import { repeatPolicyOf } from '../../../../src/mcp/tools/tool-definition.ts';

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
