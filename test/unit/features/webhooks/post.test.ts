/** What a receiver may answer that is no answer: each ends the delivery within its time.
 *  It must not speak to anything but a socket of its own. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { post } from '../../../../src/features/webhooks/post.ts';

const SWITCHES = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

async function answered(text: string, isEnded: boolean) {
  await using receiver = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => (isEnded ? socket.end(text) : socket.write(text)));
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const signal = new AbortController().signal;
  const url = `http://127.0.0.1:${port}/`;
  const sent = { url, headers: {}, body: '{}', timeoutMs: 500, privateAddresses: true, signal };
  return await post(sent).catch((error: { code?: string }) => ({ code: error.code }));
}

test.each([
  ['another protocol', SWITCHES, false, { status: 101 }],
  ['another protocol, and the end', SWITCHES, true, { status: 101 }],
  ['nothing', '', true, { code: 'ECONNRESET' }],
  ['that it goes on', 'HTTP/1.1 100 Continue\r\n\r\n', false, { code: 'ABORT_ERR' }],
  ['half a header', 'HTTP/1.1 200 OK\r\nx:', false, { code: 'ABORT_ERR' }],
  ['no HTTP', 'hello\r\n\r\n', true, { code: 'HPE_INVALID_CONSTANT' }],
])('a receiver that answers %s ends the delivery', async (_what, text, isEnded, outcome) => {
  expect(await answered(text, isEnded)).toMatchObject(outcome);
});
