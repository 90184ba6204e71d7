/** Reads and discards the rest of a refused body, so that its sender receives the answer.
 *  It must never keep what it reads, nor read for ever. */
import type { IncomingMessage } from 'node:http';
import type { App } from './app.ts';

const MOST_BYTES = 64 * 1024 * 1024;
const LONGEST_MS = 10_000;

/** Closing a connection while its sender is sending loses the answer. */
export function readBeforeRefusal(app: App): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (reply.statusCode < 400) done();
    else discardBody(request.raw, done);
  });
}

function discardBody(request: IncomingMessage, done: () => void): void {
  if (request.complete || request.destroyed) return done();
  let leftBytes = MOST_BYTES;
  const finish = (): void => {
    clearTimeout(timer);
    request.off('end', finish).off('close', finish).off('data', count).resume();
    done();
  };
  const count = (chunk: Buffer): void => {
    leftBytes -= chunk.length;
    if (leftBytes < 0) finish();
  };
  const timer = setTimeout(finish, LONGEST_MS);
  request.once('end', finish).once('close', finish).on('data', count);
}
