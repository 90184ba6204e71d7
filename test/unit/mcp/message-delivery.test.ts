/** What counts as a message on a server's stdout, and in which order messages are handed on.
 *  It must never throw. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliverInOrder, idOfRefused, readMessages } from '../../../src/mcp/message-delivery.ts';

test.each([
  ['', 0],
  ['Server started on stdio', 0],
  ['{"jsonrpc":', 0],
  ['[]', 0],
  ['null', 0],
  ['{"jsonrpc":"1.0","id":1,"result":{}}', 0],
  ['{"jsonrpc":"2.0","id":1}', 0],
  ['{"jsonrpc":"2.0","id":1,"result":7}', 0],
  ['{"jsonrpc":"2.0","id":1,"error":"no"}', 0],
  ['{"jsonrpc":"2.0","method":7}', 0],
  ['{"jsonrpc":"2.0","method":"a","params":7}', 0],
  ['{"jsonrpc":"2.0","id":1,"result":{}}\r', 1],
  ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}', 1],
  ['  {"jsonrpc":"2.0","method":"a"}', 1],
  ['[{"jsonrpc":"2.0","method":"a"},7,{"jsonrpc":"2.0","id":1,"result":{}}]', 2],
])('%s', (line, count) => {
  expect(readMessages(line)).toHaveLength(count);
});

test('no line can make it throw', () => {
  const nearly = fc.json().map((json) => `{"jsonrpc":"2.0","id":1,"result":${json},"method":${json}}`);
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json(), nearly), (line) => void readMessages(line)));
});

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
  ['{"jsonrpc":"2.0","id":12,"method":"ping",', '"}}', null],
  ['{"jsonrpc":"2.0","method":"ping","params":', '"},"id":12}', null],
])('finds the id of a refused answer: %s … %s', (head, tail, id) => {
  expect(idOfRefused(head, tail)).toBe(id);
});
