// Why a model stopped, under every provider's name for it.
// Must never take an unknown word for a normal end.
import { expect, test } from 'vitest';
import { FINISH_REASONS, normalizeFinishReason } from '../../../src/contract/model/finish-reason.ts';

test.each<[raw: unknown, reason: string | null]>([
  ...FINISH_REASONS.map((reason): [string, string] => [reason, reason]),
  ['completed', 'stop'],
  ['end_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['something_new', 'unknown'],
  [7, 'unknown'],
  [null, null],
  [undefined, null],
])('%s is %s', (raw, reason) => {
  expect(normalizeFinishReason(raw)).toBe(reason);
});
