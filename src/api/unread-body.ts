/** Reads and discards the rest of a refused body, so that its sender receives the answer.
 *  It must never keep what it reads, nor read for ever. */
import type { IncomingMessage } from 'node:http';
import type { App } from './app.ts';

const MOST_BYTES = 64 * 1024 * 1024;
const LONGEST_MS = 10_000;

/** Closing a connection while its sender is sending loses the answer. */
export function readBeforeRefusal(app: App): void {
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode >= 400) await discardBody(request.raw);
  });
}

async function discardBody(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  let leftBytes = MOST_BYTES;
  const timer = setTimeout(resolve, LONGEST_MS);
  request.once('end', resolve).once('close', resolve);
  request.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length;
    if (leftBytes < 0) resolve();
  });
  await promise;
  clearTimeout(timer);
}
