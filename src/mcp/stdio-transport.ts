/** The MCP transport over a child's stdin and stdout: one JSON-RPC message a line, both directions bounded.
 *  It must never throw at what the server writes, nor let an unread stdin grow for ever. */
import { type JSONRPCMessage, SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client';
import { createLineReader } from './line-reader.ts';
import type { McpLogger } from './logger.ts';
import { MAX_MESSAGE_BYTES, deliverInOrder, oversizedAnswer, readMessages } from './message-delivery.ts';
import type { StdioTransportOptions } from './server-options.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';
import { type StderrTail, createStderrTail } from './stderr-tail.ts';

/** A server that leaves this much unread does not read any more. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Past this much unread, a cancellation would not be read in time to matter. */
const MAX_UNREAD_BEFORE_NOTIFICATIONS = 1024 * 1024;

export interface StdioTransport extends Transport {
  /** `pid` and `stderr` are how the SDK tells stdio from HTTP. */
  readonly pid: number | null;
  readonly stderr: null;
  /** Why the connection ended, in words, with the last line of stderr; '' while it has not. */
  ending(): string;
}

interface Link {
  process: ServerProcess | null;
  closed: boolean;
  ending: string;
}

export function createStdioTransport(options: StdioTransportOptions, logger: McpLogger): StdioTransport {
  const link: Link = { process: null, closed: false, ending: '' };
  const stderr = createStderrTail({
    onLine: (line, suppressed) =>
      logger.debug({ line, ...(suppressed > 0 ? { suppressed } : {}) }, 'MCP server stderr'),
  });
  const transport: StdioTransport = {
    stderr: null,
    get pid() {
      return link.process?.pid ?? null;
    },
    ending: () => link.ending,
    async start() {
      if (link.process !== null || link.closed)
        throw new SdkError(SdkErrorCode.AlreadyConnected, 'Already started');
      link.process = await startServerProcess(options);
      attach(link.process, transport, link, stderr);
    },
    send: (message) => send(link, message),
    async close() {
      const graceful = !link.closed;
      await link.process?.end(!graceful);
      closeOnce(link, transport);
    },
  };
  return transport;
}

function attach(server: ServerProcess, transport: StdioTransport, link: Link, stderr: StderrTail): void {
  const deliver = (message: JSONRPCMessage): void =>
    deliverInOrder(message, (next) => transport.onmessage?.(next));
  const reader = createLineReader({
    maxLineBytes: MAX_MESSAGE_BYTES,
    onLine: (line) => {
      for (const message of readMessages(line)) deliver(message);
    },
    onOversized: (head, tail) => {
      const answer = oversizedAnswer(head, tail);
      if (answer !== null) deliver(answer);
    },
  });
  server.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
  server.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  for (const pipe of [server.stdin, server.stdout, server.stderr]) {
    pipe.on('error', (error: Error) => transport.onerror?.(error));
  }
  const lost = (how: string): void => {
    if (link.ending === '')
      link.ending = [how, stderr.tellingLine().slice(0, 300)].filter((part) => part !== '').join(': ');
    closeOnce(link, transport);
    void server.end(true);
  };
  // No answer can come any more, even if the process lives on. One turn later, so that an exit gets to say how it ended.
  server.stdout.once('close', () => setTimeout(lost, 20, 'closed its stdout'));
  void server.gone.then(lost);
}

function closeOnce(link: Link, transport: StdioTransport): void {
  if (link.closed) return;
  link.closed = true;
  transport.onclose?.();
}

function send(link: Link, message: JSONRPCMessage): Promise<void> {
  const stdin = link.process?.stdin;
  if (stdin === undefined || link.closed || !stdin.writable) {
    return Promise.reject(new SdkError(SdkErrorCode.NotConnected, 'Not connected'));
  }
  const unreadBytes = stdin.writableLength;
  const isRequest = 'method' in message && 'id' in message;
  if (!isRequest && unreadBytes > MAX_UNREAD_BEFORE_NOTIFICATIONS) return Promise.resolve();
  if (unreadBytes > MAX_UNREAD_BYTES) {
    void link.process?.end(true);
    return Promise.reject(new SdkError(SdkErrorCode.SendFailed, 'The server does not read its stdin'));
  }
  const line = `${JSON.stringify(message)}\n`;
  // Calls made in the same tick leave in one write.
  if (stdin.writableCorked === 0) {
    stdin.cork();
    process.nextTick(() => stdin.uncork());
  }
  stdin.write(line);
  return Promise.resolve();
}
