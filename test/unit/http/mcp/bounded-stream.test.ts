/** Streams of events for clients that read slowly, or not at all.
 *  It must not need a connection: the bound holds before one. */
import { expect, test, vi } from 'vitest';
import { boundedStream } from '../../../../src/http/mcp/endpoint.ts';
import { untilHolds } from '../../../support/eventually.ts';

const EVENT = new Uint8Array(400);
const LIMIT = 1_000;

function source(events: readonly Uint8Array[]) {
  const cancelled = vi.fn();
  const left = [...events];
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const event = left.shift();
      if (event === undefined) controller.close();
      else controller.enqueue(event);
    },
    cancel: cancelled,
  });
  return { stream, cancelled };
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const piece of stream) bytes += piece.byteLength;
  return bytes;
}

test('a client that reads gets everything, an event that is larger than the limit too', async () => {
  const large = new Uint8Array(50 * LIMIT);
  expect(await readAll(boundedStream(source([EVENT, large]).stream, LIMIT))).toBe(
    EVENT.length + large.length,
  );
});

test('a client that does not read is cut off, and what feeds it is told', async () => {
  const { stream, cancelled } = source(Array.from({ length: 10 }, () => EVENT));
  const bounded = boundedStream(stream, LIMIT);
  await untilHolds(() => expect(cancelled).toHaveBeenCalled());
  await expect(readAll(bounded)).rejects.toThrow('does not read');
});

test('a client that leaves ends the source', async () => {
  const { stream, cancelled } = source([EVENT]);
  await boundedStream(new ReadableStream({ start: () => {}, cancel: cancelled })).cancel('gone');
  expect(cancelled).toHaveBeenCalledWith('gone');
  await stream.cancel();
});
