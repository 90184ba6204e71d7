/** Calls that were ended from this side: how long their server counts as being at work on them.
 *  It must never wait for real time. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { watchAbandoned } from '../../../../src/mcp/tasks/abandoned-calls.ts';

function setup() {
  const state = { now: 0 };
  const asking = new Set<number>();
  let sent = 0;
  const transport: Pick<Transport, 'send' | 'onmessage'> = { send: async () => {}, onmessage: () => {} };
  const abandoned = watchAbandoned(
    transport,
    () => {
      const call = (sent += 1);
      return () => asking.has(call);
    },
    () => state.now,
  );
  return {
    state,
    asking,
    abandoned,
    request: async (id: number, method = 'tools/call') => transport.send({ jsonrpc: '2.0', id, method }),
    cancel: async (requestId: number) =>
      transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
    answer: (id: number) => transport.onmessage?.({ jsonrpc: '2.0', id, result: {} } as JSONRPCMessage),
  };
}

test('a call that was ended counts until it is answered', async () => {
  const { abandoned, request, cancel, answer } = setup();
  await request(1);
  await request(2);
  expect(abandoned.leftMs()).toBe(0);
  await cancel(1);
  answer(2);
  expect(abandoned.leftMs()).toBeGreaterThan(0);
  answer(1);
  expect(abandoned.leftMs()).toBe(0);
});

test('an unanswered one counts for a while, and less long where it was asking, not another one', async () => {
  const { state, asking, abandoned, request, cancel } = setup();
  await request(1);
  await request(2);
  asking.add(2);
  await cancel(1);
  expect(abandoned.leftMs()).toBe(300_000);
  state.now = 300_000;
  expect(abandoned.leftMs()).toBe(0);
  await cancel(2);
  expect(abandoned.leftMs()).toBe(2_000);
});

test('what is no call, was answered or was never sent does not count, and the oldest of very many is dropped', async () => {
  const { abandoned, request, cancel, answer } = setup();
  await request(1, 'ping');
  await request(2);
  answer(2);
  for (const id of [1, 2, 3]) await cancel(id);
  expect(abandoned.leftMs()).toBe(0);
  for (let id = 10; id < 3_000; id += 1) {
    await request(id);
    await cancel(id);
  }
  for (let id = 2_999; id >= 3_000 - 1_024; id -= 1) answer(id);
  expect(abandoned.leftMs()).toBe(0);
});
