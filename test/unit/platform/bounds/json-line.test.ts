/** JSON on one line for readers that also end lines at U+2028 and U+2029.
 *  It must never compare spellings: only the lines that a reader finds, and their values. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { jsonLine, jsonLines } from '../../../../src/platform/bounds/json-line.ts';

const messages = ['a\u2028b', { '\u2029': '\u2028' }, 'x'.repeat(100_000), 'end'];

async function linesOf(input: PassThrough): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of createInterface({ input })) lines.push(JSON.parse(line));
  return lines;
}

test('a value is one line, and the same value', async () => {
  const output = new PassThrough();
  const read = linesOf(output);
  for (const message of messages) output.write(jsonLine(message));
  output.end();
  expect(await read).toEqual(messages);
});

test('written lines pass in order, and wait where the output is full', async () => {
  const output = new PassThrough({ highWaterMark: 64 });
  const lines = jsonLines(output);
  const written = messages.map((message) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    lines.write(`${JSON.stringify(message)}\n`, () => resolve());
    return promise;
  });
  const read = linesOf(output);
  await Promise.all(written);
  output.end();
  expect(await read).toEqual(messages);
});

test('the end of the output ends what is before it', async () => {
  const output = new PassThrough();
  const lines = jsonLines(output);
  const failed = once(lines, 'error');
  output.destroy(new Error('EPIPE'));
  expect(await failed).toMatchObject([{ message: 'EPIPE' }]);
});
