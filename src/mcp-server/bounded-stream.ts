/** Passes a stream of events on to a client that may read slowly, or not at all.
 *  It must never hold more for it than its limit and one event: the connection is ended instead. */

/** An answer of several megabytes is one event; what waits behind one that is not read is not kept. */
const MOST_WAITING_BYTES = 1024 * 1024;

/** The source is always read at once: what its own queue would hold is counted here. */
export function boundedStream(
  source: ReadableStream<Uint8Array>,
  mostWaitingBytes = MOST_WAITING_BYTES,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const size = ({ byteLength }: Uint8Array): number => byteLength;
  return new ReadableStream<Uint8Array>(
    { start: (client) => void pass(reader, client), cancel: async (reason) => reader.cancel(reason) },
    { highWaterMark: mostWaitingBytes, size },
  );
}

async function pass(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  client: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return client.close();
      if ((client.desiredSize ?? 0) <= 0) throw new Error('The client does not read its events');
      client.enqueue(value);
    }
  } catch (error) {
    // Tolerates a client that has gone: its stream is closed already.
    client.error(error);
    await reader.cancel(error).catch(() => {});
  }
}
