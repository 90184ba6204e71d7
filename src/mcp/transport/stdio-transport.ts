/** The MCP transport over a child's stdin and stdout: one JSON-RPC message a line, both directions bounded.
 *  It must never throw at what the server writes, nor let an unread stdin grow for ever. */
import { type JSONRPCMessage, SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client';
import { jsonLine } from '../../platform/bounds/json-line.ts';
import { headOf, tailOf } from '../../platform/bounds/text-ends.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import { type AnswerGuard, createAnswerGuard } from './answer-guard.ts';
import { createLineReader } from './line-reader.ts';
import { deliverInOrder, idOfRefused, refusedAnswer } from './message-delivery.ts';
import { MAX_MESSAGE_BYTES, messageExcess } from './message-limits.ts';
import { createOutputTail, type OnOutput, type OutputTail } from './output-tail.ts';
import { createPace, type Pace } from '../pace.ts';
import { readMessages, startsAsMessage } from './read-message.ts';
import type { StdioTransportOptions } from '../server-options.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** Bytes of a refused line that are read to find the request that it answers. */
const KEPT_END_BYTES = 256;
/** The part of a line on stdout without a message that is kept. */
const MAX_STRAY_BYTES = 2_000;
/** A server that leaves this much unread has stopped reading. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** With this much unread, a cancellation would arrive too late. */
const MAX_UNREAD_BEFORE_NOTIFICATIONS = 1024 * 1024;

export interface StdioTransport extends Transport {
  /** The SDK recognises stdio by `pid` and `stderr`. */
  readonly pid: number | null;
  readonly stderr: null;
  /** When the server last sent a message, as performance.now. */
  lastMessageAt(): number;
  /** Why the connection ended, with the line of the output that explains it; '' while it has not. */
  ending(): string;
  /** The line of the program's output that most likely explains a fault; '' = it has printed nothing. */
  printed(): string;
}

interface Link {
  process: ServerProcess | null;
  closed: boolean;
  ending: string;
  lastMessageAt: number;
}

/** `onOutput`: gets what the log gets. Default: nothing more is done with it. */
export function createStdioTransport(
  options: StdioTransportOptions,
  logger: Logger,
  onOutput: OnOutput = () => {},
): StdioTransport {
  const link: Link = { process: null, closed: false, ending: '', lastMessageAt: -Infinity };
  const guard = createAnswerGuard();
  const pace = createPace();
  const probe = createProbeWatch();
  const output = createOutputTail({
    onLine: (line, suppressed) => {
      logger.debug({ line, ...(suppressed > 0 ? { suppressed } : {}) }, 'MCP server output');
      onOutput(line, suppressed);
    },
  });
  const transport: StdioTransport = {
    stderr: null,
    get pid() {
      return link.process?.pid ?? null;
    },
    lastMessageAt: () => link.lastMessageAt,
    ending: () => link.ending,
    printed: () => printedBy(output),
    async start() {
      if (link.process !== null || link.closed)
        throw new SdkError(SdkErrorCode.AlreadyConnected, 'Already started');
      link.process = await startServerProcess(options);
      attach(link.process, transport, link, { output, guard, pace, probe });
    },
    send(message) {
      const refusal = probe.refusal(message);
      if (refusal !== null) return Promise.reject(refusal);
      guard.sends(message);
      if ('method' in message && 'id' in message) pace.requested();
      return send(link, message);
    },
    async close() {
      const graceful = !link.closed;
      await link.process?.end(!graceful);
      closeOnce(link, transport);
    },
  };
  return transport;
}

interface Readers {
  readonly output: OutputTail;
  readonly guard: AnswerGuard;
  readonly pace: Pace;
  readonly probe: ProbeWatch;
}

function attach(
  server: ServerProcess,
  transport: StdioTransport,
  link: Link,
  { output, guard, pace, probe }: Readers,
): void {
  const deliver = (message: JSONRPCMessage): void => {
    link.lastMessageAt = performance.now();
    probe.received(message);
    deliverInOrder(guard.checked(message), (next) => transport.onmessage?.(next));
  };
  const lost = (how: string): void => {
    if (link.ending === '') link.ending = [how, printedBy(output)].filter((part) => part !== '').join(': ');
    closeOnce(link, transport);
    void server.end(true);
  };
  const refuse = (reason: string, head: string, tail: string): void => {
    const id = idOfRefused(head, tail);
    if (id !== null) deliver(refusedAnswer(id, reason));
  };
  const reader = createLineReader({
    maxLineBytes: MAX_MESSAGE_BYTES,
    onLine: (line) => {
      const { reason, messages } = readLine(line);
      if (reason !== null)
        return refuse(
          reason,
          headOf(line, KEPT_END_BYTES).toString(),
          tailOf(line, KEPT_END_BYTES).toString(),
        );
      for (const message of messages) deliver(message);
      // Some programs print their errors there.
      if (messages.length === 0) output.line(headOf(line, MAX_STRAY_BYTES).toString());
    },
    onOversized: (head, tail) => refuse(`is larger than ${MAX_MESSAGE_BYTES} bytes`, head, tail),
    onEndless: () => lost(`sent a message larger than ${MAX_MESSAGE_BYTES} bytes that does not end`),
  });
  server.stdout.on('data', (chunk: Buffer) => {
    pace.received(reader.push(chunk));
    const restMs = pace.restMs();
    if (restMs === 0) return;
    server.stdout.pause();
    setTimeout(() => server.stdout.resume(), restMs);
  });
  server.stderr.on('data', (chunk: Buffer) => output.push(chunk));
  for (const pipe of [server.stdin, server.stdout, server.stderr]) {
    pipe.on('error', (error: Error) => transport.onerror?.(error));
  }
  // No answer can come any more, even if the process lives on. Delayed, so that an exit can report how it ended.
  server.stdout.once('close', () => setTimeout(lost, 20, 'closed its stdout'));
  void server.gone.then(lost);
}

function printedBy(output: OutputTail): string {
  return output.lineOfCause().slice(0, 300);
}

interface ReadLine {
  readonly messages: readonly JSONRPCMessage[];
  /** Fault of the message that the line holds. */
  readonly reason: string | null;
}

function readLine(line: Buffer): ReadLine {
  const excess = messageExcess(line);
  if (excess !== null) return { reason: excess, messages: [] };
  const text = line.toString('utf8');
  const messages = readMessages(text)?.messages;
  return {
    reason: messages === undefined && startsAsMessage(text) ? 'is not JSON' : null,
    messages: messages ?? [],
  };
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
  // Calls of the same tick are sent in one write.
  if (stdin.writableCorked === 0) {
    stdin.cork();
    process.nextTick(() => stdin.uncork());
  }
  stdin.write(jsonLine(message));
  return Promise.resolve();
}

interface ProbeWatch {
  /** null: the message may be sent. */
  refusal(message: JSONRPCMessage): SdkError | null;
  received(message: JSONRPCMessage): void;
}

function createProbeWatch(): ProbeWatch {
  const unanswered = new Set<string | number>();
  return {
    refusal(message) {
      if (!('method' in message && 'id' in message)) return null;
      if (message.method === 'server/discover') unanswered.add(message.id);
      if (message.method !== 'initialize' || unanswered.size === 0) return null;
      return new SdkError(SdkErrorCode.EraNegotiationFailed, 'The server has not answered the probe');
    },
    received(message) {
      if (!('method' in message) && message.id !== undefined) unanswered.delete(message.id);
    },
  };
}
