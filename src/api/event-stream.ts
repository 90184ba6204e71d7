/** Sends a request's signals to one reader as server-sent events: frames, heartbeat, backpressure.
 *  It must never buffer for a reader that does not read, nor outlive its connection. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Signal } from '../contract/signal.ts';
import type { UnreadBudget } from './unread-budget.ts';

/** How soon a browser's EventSource reconnects after a cut. */
const RETRY_MS = 1_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

export interface EventStreamOptions {
  /** The reader has everything up to this sequence. */
  readonly after: number;
  /** How long the stream is idle before a comment keeps proxies from closing it. */
  readonly heartbeatMs: number;
  /** Aborts when the reader is gone. Also with `stop`, which ends the stream without its closing event: the reader reconnects elsewhere. */
  readonly reader: AbortSignal;
  readonly stop: AbortSignal;
  /** Shared by all streams of the process. */
  readonly unread: UnreadBudget;
}

/** Resolves when the log has ended, the reader is gone, or the service stops; rejects when `source` fails. */
export async function streamSignals(
  response: ServerResponse,
  source: (reader: AbortSignal) => AsyncIterable<Signal>,
  options: EventStreamOptions,
): Promise<void> {
  const { reader } = options;
  open(response);
  const heartbeat = setInterval(() => keepAlive(response), options.heartbeatMs);
  try {
    await copy(response, source(reader), reader, options);
  } catch (error) {
    if (!reader.aborted) throw error;
  } finally {
    clearInterval(heartbeat);
    close(response, options.stop.aborted);
  }
}

function open(response: ServerResponse): void {
  response.writeHead(200, HEADERS);
  response.write(`retry: ${RETRY_MS}\n\n`);
}

async function copy(
  response: ServerResponse,
  signals: AsyncIterable<Signal>,
  reader: AbortSignal,
  { after, unread }: EventStreamOptions,
): Promise<void> {
  let last = after;
  for await (const signal of signals) {
    if (reader.aborted) return;
    last = signal.sequence;
    if (!write(response, frame(signal))) await drained(response, reader, unread);
  }
  if (!reader.aborted) write(response, endFrame(last));
}

/** A reader that is cut reconnects with `Last-Event-ID`, so nothing is kept for it. */
async function drained(response: ServerResponse, reader: AbortSignal, unread: UnreadBudget): Promise<void> {
  const release = unread.hold(response.writableLength, () => response.destroy());
  try {
    await once(response, 'drain', { signal: reader });
  } finally {
    release();
  }
}

/** Frames of the same tick are sent in one packet. */
function write(response: ServerResponse, text: string): boolean {
  if (response.writableCorked === 0) {
    response.cork();
    process.nextTick(() => flush(response));
  }
  return response.write(text);
}

/** Needed before the end, too: node sends the end of a corked response before its content. */
function flush(response: ServerResponse): void {
  if (response.writableCorked > 0) response.uncork();
}

/** A stopping service closes kept-alive connections: it would wait for them. */
function close(response: ServerResponse, stopped: boolean): void {
  const { socket } = response;
  flush(response);
  response.end(() => {
    if (stopped) socket?.end();
  });
}

/** Removes line ends: they would end a field, or a frame. */
function field(text: string): string {
  return text.replace(/[\r\n\0]/g, '');
}

export function frame(signal: Signal): string {
  return `id: ${Number(signal.sequence)}\nevent: ${field(signal.type)}\ndata: ${JSON.stringify(signal)}\n\n`;
}

function endFrame(lastSequence: number): string {
  return `event: adjutant.end\ndata: {"last_sequence":${lastSequence}}\n\n`;
}

function keepAlive(response: ServerResponse): void {
  if (!response.writableNeedDrain) response.write(': still here\n\n');
}
