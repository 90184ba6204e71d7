/** What counts as a message, what is put right in one, and what is left as it was sent.
 *  It must never throw. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readEvent } from '../../../../src/mcp/transport/http-fetch.ts';
import { readMessage, readMessages } from '../../../../src/mcp/transport/read-message.ts';

test.each([
  ['[]', 0],
  ['null', 0],
  ['7', 0],
  ['{"jsonrpc":"2.0"}', 0],
  ['{"jsonrpc":"2.0","id":null,"result":{}}', 0],
  ['{"jsonrpc":"2.0","id":1.5,"result":{}}', 0],
  ['{"jsonrpc":"2.0","method":7}', 0],
  ['{"jsonrpc":"2.0","id":1,"method":7}', 0],
  ['{"jsonrpc":"2.0","method":"a","params":7}', 0],
  ['{"jsonrpc":"2.0","id":1,"result":{}}\r', 1],
  ['\u{feff}{"jsonrpc":"2.0","id":1,"result":{}}', 1],
  ['{"jsonrpc":"2.0","id":1}', 1],
  ['  {"jsonrpc":"2.0","method":"a"}', 1],
  ['{"method":"a","params":null}', 1],
  ['[{"jsonrpc":"2.0","method":"a"},7,{"jsonrpc":"2.0","id":1,"result":{}}]', 2],
])('%s', (text, count) => {
  expect(readMessages(text)?.messages).toHaveLength(count);
});

test.each(['', 'Server started on stdio', '{"jsonrpc":'])('is not JSON: %s', (text) => {
  expect(readMessages(text)).toBeNull();
});

test('what is right stays as it is', () => {
  const result = { content: [{ type: 'text', text: 'a' }], structuredContent: { a: null }, other: null };
  for (const message of [
    { jsonrpc: '2.0', id: 1, result },
    { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no', data: null } },
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', method: 'a', params: { b: null } },
  ])
    expect(readMessage(message)).toBe(message);
});

test('null in place of an absent member is left out; null that a tool answers with stays', () => {
  const read = (result: object): unknown => readMessage({ jsonrpc: '2.0', id: 1, result });
  const content = [
    { type: 'resource', resource: { uri: 'a', mimeType: null, text: 'b' }, annotations: null },
  ];
  expect(read({ content, isError: null, structuredContent: null, other: null })).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: { content: [{ type: 'resource', resource: { uri: 'a', text: 'b' } }], other: null },
  });
  expect(read({ resultType: 'complete', structuredContent: null, _meta: null })).toMatchObject({
    result: { structuredContent: null },
  });
  expect(read({ capabilities: { tools: { listChanged: null } }, serverInfo: { title: null } })).toMatchObject(
    {
      result: { capabilities: { tools: {} }, serverInfo: {} },
    },
  );
});

test('an error code that is not a number is kept beside one that is', () => {
  expect(readMessage({ id: 1, error: { code: 'E_FAIL', message: 'no' } })).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32_603, message: 'no', data: { code: 'E_FAIL' } },
  });
});

test('no text can make it throw, and every answer has an answer', () => {
  const nearly = fc.json().map((json) => `{"jsonrpc":"2.0","id":1,"result":${json},"error":${json}}`);
  fc.assert(fc.property(nearly, (text) => readMessages(text)?.messages[0] !== undefined));
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void readMessages(text)));
});

describe('an event', () => {
  const read = (event: string): string => {
    const broken: string[] = [];
    const bytes = Buffer.from(event);
    const passed = readEvent(bytes, (text) => broken.push(text));
    return broken.length > 0 ? `broken ${broken.join()}` : passed === bytes ? 'same' : passed.toString();
  };
  const SOUND = '{"jsonrpc":"2.0","id":1,"result":{}}';

  test.each([
    [`data: ${SOUND}\n\n`, 'same'],
    [`id: 7\nevent: message\ndata: ${SOUND}\n\n`, 'same'],
    [': ping\n\n', 'same'],
    ['event: endpoint\ndata: {"no\n\n', 'same'],
    ['data: [DONE]\n\n', 'same'],
    ['data: {"jsonrpc":\n\n', 'broken {"jsonrpc":'],
    [`data: ${SOUND}\r\r`, `data: ${SOUND}\n\n`],
    [`id: 7\r\ndata: ${SOUND}\r\n\r\n`, `id: 7\ndata: ${SOUND}\n\n`],
    ['id: 7\ndata: {"id":1,\ndata: "result":{}}\n\n', `id: 7\ndata: ${SOUND}\n\n`],
    [`\u{feff}data: [${SOUND},${SOUND}]\n\n`, `data: ${SOUND}\n\ndata: ${SOUND}\n\n`],
  ])('%j is read as %j', (event, passed) => {
    expect(read(event)).toBe(passed);
  });
});
