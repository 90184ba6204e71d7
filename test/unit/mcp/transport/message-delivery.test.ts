/** In which order messages are handed on, and whose answer a refused text is.
 *  It must never depend on how a server writes its JSON. */
import { expect, test } from 'vitest';
import { deliverInOrder, idOfRefused } from '../../../../src/mcp/transport/message-delivery.ts';

test('a response waits for the notifications before it', async () => {
  const order: string[] = [];
  const handle = (name: string) => (): void => void Promise.resolve().then(() => order.push(name));
  deliverInOrder({ jsonrpc: '2.0', method: 'notifications/progress' }, handle('progress'));
  deliverInOrder({ jsonrpc: '2.0', id: 1, result: {} }, () => order.push('response'));
  await new Promise(setImmediate);
  expect(order).toEqual(['progress', 'response']);
});

test.each([
  ['{"jsonrpc":"2.0","id":12,"result":', '"}', 12],
  ['{"id":12,"jsonrpc":"2.0",', '"}', 12],
  ['{"result":{"content":', '"}]},"jsonrpc":"2.0","id":12}', 12],
  ['{"result":{"content":', '"}]},"id":12,"jsonrpc":"2.0"}\r', 12],
  ['{"result":{"id":12}', '}]}', null],
  ['{"jsonrpc": "2.0", "id": 12, "result": {', '', 12],
  ['{"jsonrpc": "2.0", "id": "12", "result": {', '', 12],
  ['{"jsonrpc":"2.0","id":12,"method":"ping",', '"}}', null],
  ['{"jsonrpc":"2.0","method":"ping","params":', '"},"id":12}', null],
])('finds the id of a refused answer: %s … %s', (head, tail, id) => {
  expect(idOfRefused(head, tail)).toBe(id);
});
