/** Answers that the log holds a preview of, read from where all of them is kept.
 *  It must not need Redis. */
import { expect, test } from 'vitest';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { wholeResults } from '../../../../src/store/request/whole-result.ts';

const cut = {
  type: 'ai.llm.response',
  subject: 'r',
  data: {
    call_id: 'd',
    result: { ok: true, payload: { truncated: true }, effects: [] },
    metadata: { result_truncated_bytes: 9 },
  },
} as unknown as Signal;

test('a large answer is that of the tenant who asks, though others have a request of the same name', async () => {
  const kept: Record<string, string> = { 'r/d': '"of another"', 'acme~r/d': '"of acme"' };
  const whole = wholeResults({ get: async (request, id) => kept[`${request}/${id}`] ?? null });
  expect((await whole('acme~r', cut)).data).toMatchObject({ result: { payload: 'of acme' } });
  expect((await whole('globex~r', cut)).data).toMatchObject({
    result: { ok: false, error: { type: 'invalid_result' } },
  });
});
