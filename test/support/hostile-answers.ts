/** What a hostile model provider sends: too much, redirects, or nonsense.
 *  It must never end an endless answer before its reader leaves. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

const STREAM_HEAD = { 'content-type': 'text/event-stream' };
const MIB = 1024 * 1024;
const PIECE = 'x'.repeat(MIB);
const PACKED = gzipSync(PIECE.repeat(64), { level: 1 });
const WIDE = `[${Array.from({ length: 1_500_000 }, () => '{}').join()}]`;

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`;
const newCalls = (from: number): string =>
  Array.from({ length: 200 }, (_, i) => {
    const call = { index: from + i, id: `c${from + i}`, function: { name: 't', arguments: '' } };
    return `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] })}\n\n`;
  }).join('');

/** Writes for as long as somebody reads. */
async function pour(response: ServerResponse, pieceAt: (index: number) => string): Promise<void> {
  const closed = once(response, 'close');
  for (let index = 0; !response.destroyed; index += 1) {
    if (!response.write(pieceAt(index))) await Promise.race([once(response, 'drain'), closed]);
  }
}

/** By the name of the called model. `whole` is an answer. */
export const HOSTILE_ANSWERS: Readonly<Record<string, (response: ServerResponse) => void | Promise<void>>> = {
  endless: (response) => pour(response.writeHead(200, { 'content-type': 'application/json' }), () => PIECE),
  packed: (response) =>
    void response
      .writeHead(200, {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'content-length': PACKED.length,
      })
      .end(PACKED),
  wide: (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(`{"id":"x","model":"m","choices":${WIDE},"data":${WIDE}}`),
  event: (response) =>
    pour(response.writeHead(200, STREAM_HEAD), (index) => (index === 0 ? 'data: "' : PIECE)),
  lines: (response) => pour(response.writeHead(200, STREAM_HEAD), () => 'data:\n'.repeat(10_000)),
  talks: (response) => pour(response.writeHead(200, STREAM_HEAD), () => chunk('x'.repeat(100_000))),
  calls: (response) => pour(response.writeHead(200, STREAM_HEAD), (index) => newCalls(index * 200)),
  comments: (response) => pour(response.writeHead(200, STREAM_HEAD), () => `: ${'x'.repeat(100_000)}\n\n`),
  refuses: (response) => pour(response.writeHead(500, { 'content-type': 'application/json' }), () => PIECE),
  whole: (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        id: 'x',
        model: 'm',
        choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }],
      }),
    ),
  redirect: (response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/elsewhere' }).end(),
  garbage: (response) => void response.writeHead(200, STREAM_HEAD).end('data: {"id":"x","cho\n\n'),
};
