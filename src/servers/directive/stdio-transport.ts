/** The transport of the SDK over two streams: both framings, and answers to what the SDK does not understand.
 *  It must never end before it has answered what it took, nor take more while answers wait to be read. */
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { createFrameReader, type Frame, framed } from './frames.ts';
import { intakeOf, type RefusedMessage } from './intake.ts';

export interface StdioTransport extends Transport {
  /** Settles when the input has ended and everything is answered, or after `close`. */
  readonly ended: Promise<void>;
}

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const MAX_WAITING = 64;

const TOO_LONG: RefusedMessage = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32_600, message: `Invalid Request: longer than ${MAX_MESSAGE_BYTES} bytes` },
};

export function createStdioTransport(input: Readable, output: Writable): StdioTransport {
  const reader = createFrameReader(MAX_MESSAGE_BYTES);
  const waiting = createWaitingList();
  const ended = Promise.withResolvers<void>();
  let isOpen = true;

  const write = async (message: JSONRPCMessage | RefusedMessage): Promise<void> => {
    if (output.destroyed || !output.writable) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    output.write(framed(message, reader.framing), () => resolve());
    return promise;
  };
  /** false: nothing more can be understood. */
  const accept = async (frame: Frame): Promise<boolean> => {
    if (frame.kind === 'broken') return false;
    if (frame.kind === 'oversized') await write(TOO_LONG);
    else await deliver(frame.bytes);
    return isOpen;
  };
  const deliver = async (bytes: Buffer): Promise<void> => {
    const intake = intakeOf(bytes);
    if (intake.kind === 'refused') return write(intake.answer);
    if (intake.kind === 'ignored') return;
    waiting.begin(intake.message);
    transport.onmessage?.(intake.message);
    await waiting.room(MAX_WAITING);
  };
  const acceptAll = async (frames: readonly Frame[]): Promise<boolean> => {
    for (const frame of frames) if (!(await accept(frame))) return false;
    return true;
  };
  const read = async (): Promise<void> => {
    try {
      for await (const chunk of input) if (!(await acceptAll(reader.push(chunk as Buffer)))) break;
      await acceptAll(reader.end());
      await waiting.room(1);
    } catch (error) {
      if (isOpen) transport.onerror?.(error as Error);
    }
    await transport.close();
  };

  const transport: StdioTransport = {
    ended: ended.promise,
    async start() {
      void read();
    },
    async send(message) {
      await write(message);
      waiting.end(message);
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      waiting.clear();
      input.destroy();
      transport.onclose?.();
      ended.resolve();
    },
  };
  return transport;
}

/** The ids of requests without an answer. */
function createWaitingList() {
  const ids = new Set<string | number>();
  let listener = (): void => {};
  const remove = (id: string | number | undefined): void => {
    if (id !== undefined) ids.delete(id);
    listener();
  };
  return {
    begin(message: JSONRPCMessage): void {
      if (!('method' in message)) return;
      if ('id' in message) ids.add(message.id);
      // A cancelled request gets no answer.
      else if (message.method === 'notifications/cancelled') remove(cancelledId(message.params));
    },
    end(message: JSONRPCMessage): void {
      if (!('method' in message)) remove(message.id);
    },
    clear(): void {
      ids.clear();
      listener();
    },
    /** Settles when fewer than `most` wait. */
    async room(most: number): Promise<void> {
      while (ids.size >= most) {
        const { promise, resolve } = Promise.withResolvers<void>();
        listener = resolve;
        await promise;
      }
    },
  };
}

function cancelledId(params: Readonly<Record<string, unknown>> | undefined): string | number | undefined {
  const id = params?.['requestId'];
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
