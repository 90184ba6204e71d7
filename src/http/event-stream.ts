/** Sends a request's signals to one reader as server-sent events: frames, heartbeat, backpressure.
 *  It must never buffer for a reader that does not read, nor outlive its connection. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { NextStep } from '../platform/bounds/steps.ts';
import type { Signal } from '../contract/signal/signal.ts';
import type { UnreadBudget } from './unread-budget.ts';

/** A browser's EventSource reconnects so many milliseconds after a cut. */
const RETRY = Buffer.from('retry: 1000\n\n');

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
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
  /** Shared by all streams of a caller: hundreds that begin at once do not hold up the others. */
  readonly nextStep: NextStep;
}

/** Resolves when the log has ended, the reader is gone, or the service stops; rejects when `source` fails. */
export async function streamSignals(
  response: ServerResponse,
  source: (reader: AbortSignal) => AsyncIterable<Signal>,
  options: EventStreamOptions,
): Promise<void> {
  const { reader } = options;
  const frames = open(response);
  const heartbeat = setInterval(() => keepAlive(response, frames), options.heartbeatMs);
  try {
    await copy(response, frames, source(reader), reader, options);
  } catch (error) {
    if (!reader.aborted) throw error;
  } finally {
    clearInterval(heartbeat);
    close(response, frames, options.stop.aborted);
  }
}

function open(response: ServerResponse): FrameWriter {
  response.writeHead(200, HEADERS);
  const frames = createFrameWriter(response);
  frames.write(RETRY);
  return frames;
}

async function copy(
  response: ServerResponse,
  frames: FrameWriter,
  signals: AsyncIterable<Signal>,
  reader: AbortSignal,
  { after, unread, nextStep }: EventStreamOptions,
): Promise<void> {
  let last = after;
  for await (const signal of signals) {
    const bytes = frameBytes(signal);
    await nextStep(bytes.length);
    if (reader.aborted) return;
    last = signal.sequence;
    if (!frames.write(bytes)) await drained(response, reader, unread);
  }
  if (!reader.aborted) frames.write(endFrame(last));
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

interface FrameWriter {
  /** False: nothing more may be written before the response has drained. */
  write(frame: Buffer): boolean;
  flush(): void;
}

/** Frames are written before the tick ends once they have so many bytes. */
const MOST_JOINED_BYTES = 32_768;

/**
 * Frames of the same tick are one write, and one packet. They are joined here: a corked response is sent in four packets,
 * and when its socket is corked, too, it may wait for ever, since the one counts bytes and the other characters.
 */
function createFrameWriter(response: ServerResponse): FrameWriter {
  let joined: Buffer[] = [];
  let joinedBytes = 0;

  function flush(): void {
    const [first, ...others] = joined;
    joined = [];
    joinedBytes = 0;
    if (first !== undefined) response.write(others.length === 0 ? first : Buffer.concat([first, ...others]));
  }

  return {
    write(frame) {
      if (joined.length === 0) process.nextTick(flush);
      joined.push(frame);
      joinedBytes += frame.length;
      if (joinedBytes >= MOST_JOINED_BYTES) flush();
      return !response.writableNeedDrain;
    },
    flush,
  };
}

/** A stopping service closes kept-alive connections: it would wait for them. */
function close(response: ServerResponse, frames: FrameWriter, stopped: boolean): void {
  const { socket } = response;
  frames.flush();
  response.end(() => {
    if (stopped) socket?.end();
  });
}

/** Removes line ends: they would end a field, or a frame. */
function field(text: string): string {
  return text.replace(/[\r\n\0]/g, '');
}

/** Followers of one request share its signals, and each frame is encoded once for all of them. */
const framed = new WeakMap<Signal, Buffer>();

function frameBytes(signal: Signal): Buffer {
  const known = framed.get(signal);
  if (known !== undefined) return known;
  const bytes = Buffer.from(frame(signal));
  framed.set(signal, bytes);
  return bytes;
}

export function frame(signal: Signal): string {
  return `id: ${Number(signal.sequence)}\nevent: ${field(signal.type)}\ndata: ${JSON.stringify(signal)}\n\n`;
}

function endFrame(lastSequence: number): Buffer {
  return Buffer.from(`event: adjutant.end\ndata: {"last_sequence":${lastSequence}}\n\n`);
}

const STILL_HERE = Buffer.from(': still here\n\n');

function keepAlive(response: ServerResponse, frames: FrameWriter): void {
  if (!response.writableNeedDrain) frames.write(STILL_HERE);
}
