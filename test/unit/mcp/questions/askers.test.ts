/** Which call a server asks for, on a transport that sends nowhere.
 *  It must never need a server: those of `integration/mcp/questions.test.ts` are real. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { findAskers, onStreamOf } from '../../../../src/mcp/questions/askers.ts';
import type { CallListeners } from '../../../../src/mcp/session.ts';

function setup() {
  const transport = { send: async () => {}, onmessage: () => {} } as unknown as Transport;
  const inFlight = new Map<Promise<unknown>, CallListeners>();
  const warnings: { fields: object; message: string }[] = [];
  const warn = (fields: object, message: string): void => void warnings.push({ fields, message });
  const silent = (): void => {};
  const logger = { debug: silent, info: silent, warn, error: silent };
  const clock = { now: 0 };
  const askers = findAskers(transport, inFlight, logger, () => clock.now);
  const { signal } = new AbortController();
  let ids = 0;
  return {
    askers,
    clock,
    inFlight,
    warnings,
    find: async (meta?: Record<string, unknown>) => askers.find(signal, meta),
    /** As the session does it. */
    async begin(more: Partial<CallListeners> = {}) {
      const listeners: CallListeners = { onProgress: silent, ...more };
      const id = (ids += 1);
      inFlight.set(Promise.resolve(id), listeners);
      const method = 'tools/call';
      await onStreamOf(listeners, async () => transport.send({ jsonrpc: '2.0', id, method }));
      return { id, listeners };
    },
    async cancel({ id, listeners }: { id: number; listeners: CallListeners }) {
      const method = 'notifications/cancelled';
      await transport.send({ jsonrpc: '2.0', method, params: { requestId: id } } as JSONRPCMessage);
      for (const [answer, each] of inFlight) if (each === listeners) inFlight.delete(answer);
      askers.changed();
    },
  };
}

test('a call that ends while another one asks counts as one that its server may go on with for minutes', async () => {
  const { askers, begin, cancel, clock, find, warnings } = setup();
  const orphan = await begin();
  const asking = await begin();
  const answered = Promise.withResolvers<void>();
  const open = askers.whileOpen(asking.listeners, async () => answered.promise);
  await cancel(orphan);
  expect(await find()).toBeNull();
  expect(warnings).toHaveLength(1);
  // Longer than one counts that has told its server so.
  clock.now = 60_000;
  expect(await find()).toBeNull();
  expect(warnings[1]?.fields).toHaveProperty('until');
  answered.resolve();
  await open;
});

test('a server that asks for no call again and again is warned of once a minute, with how often it was', async () => {
  const { clock, find, warnings } = setup();
  for (let times = 0; times < 50; times += 1) expect(await find()).toBeNull();
  const message = expect.stringContaining('unknown for which');
  expect(warnings).toEqual([{ fields: { calls: 0 }, message }]);
  clock.now = 60_000;
  await find();
  expect(warnings[1]).toEqual({ fields: { calls: 0, suppressed: 49 }, message });
});

test('a question that names no task is of the call, not of a task that is under way beside it', async () => {
  const { begin, find, inFlight } = setup();
  const onQuestion = async () => ({ action: 'cancel' }) as const;
  const poll = Promise.resolve();
  const task = { onProgress: () => {}, onQuestion, taskId: 'a task' };
  inFlight.set(poll, { onProgress: () => {}, taskId: 'a task' }).set(Promise.resolve(), task);
  expect(await find()).toBe(task);
  const { listeners } = await begin({ onQuestion });
  expect(await find()).toBe(listeners);
  expect(await find({ 'io.modelcontextprotocol/related-task': { taskId: 'a task' } })).toBe(task);
});
