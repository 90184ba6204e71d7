/** The MCP server on standard input and output, for hosts that only start programs.
 *  It must never write anything else to the output. */
import { once } from 'node:events';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { jsonLines } from '../../platform/bounds/json-line.ts';
import { whyNotServed } from './endpoints.ts';
import { whileAvailable } from './refusal.ts';
import { announceChanges } from './server.ts';
import { createToolServers, type ToolServers, type ToolServersOptions } from './tool-servers.ts';

export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
/** Hosts kill a program about 2 s after they have closed its input. */
const LAST_ANSWERS_MS = 1_500;

/** Resolves when the host has closed the input and has its last answers, or when `stop` aborts. Calls that have not ended go on. */
export async function serveToolsStdio(
  options: ToolServersOptions,
  { input, output }: Streams,
  stop: AbortSignal,
): Promise<void> {
  const servers = createToolServers(options);
  // The transport gives up its answers at the end of its own input.
  const read = new PassThrough();
  const transport = new StdioServerTransport(read, jsonLines(output), { maxBufferSize: MAX_MESSAGE_BYTES });
  const handle = serveStdio(async (context) => announceChanges(await servers.create(context), servers), {
    transport,
    onerror: options.onError,
  });
  const open = watchRequests(transport);
  const looked = firstLook(options, servers);
  input.pipe(read, { end: false });
  await Promise.race([inputEnd(input, stop), open.closed]);
  await lastAnswers(open, looked, stop);
  input.unpipe(read).pause();
  servers.stop();
  await handle.close();
}

async function inputEnd(input: Readable, stop: AbortSignal): Promise<void> {
  if (input.readableEnded || input.destroyed) return;
  // Not every kind of standard input closes: a file or /dev/null only ends.
  const ends = ['end', 'close'].map(async (event) => once(input, event, { signal: stop }));
  await Promise.race(ends).catch(() => {});
}

async function lastAnswers(open: OpenRequests, looked: Promise<void>, stop: AbortSignal): Promise<void> {
  // What has been read last is still on its way through the pipe.
  await turn();
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  const limit = wait(LAST_ANSWERS_MS, undefined, { signal }).catch(() => {});
  await Promise.race([Promise.all([open.answered(), looked]), open.closed, limit]);
  over.abort();
}

/** A person who reads the log of the host sees at once why there are no tools. */
async function firstLook(
  { client, scope, onError }: ToolServersOptions,
  { tools }: ToolServers,
): Promise<void> {
  try {
    if (scope?.kind !== 'server') return void (await tools.read());
    const why = whyNotServed(scope.server, await whileAvailable(async () => client.tools()));
    if (why !== null) onError(new Error(`--server ${scope.server}: ${why}`));
  } catch (error) {
    onError(error as Error);
  }
}

interface OpenRequests {
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<void>;
  /** Resolves when every request that was read has its answer. */
  answered(): Promise<void>;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** Call it when the transport is in use, and before its input flows. */
function watchRequests(transport: StdioServerTransport): OpenRequests {
  const open = new Set<unknown>();
  const closed = Promise.withResolvers<void>();
  let none = Promise.withResolvers<void>();
  const settle = (id: unknown): void => {
    open.delete(id);
    if (open.size === 0) none.resolve();
  };
  const { onmessage: hear, onclose: end } = transport;
  const send = transport.send.bind(transport);

  transport.onmessage = (message: JSONRPCMessage) => {
    const { id, method, params } = message as Message;
    if (isAnswered(message as Message)) open.add(id);
    else if (method === 'notifications/cancelled') settle(params?.requestId);
    hear?.(message);
  };
  transport.send = async (message) => {
    await send(message);
    const { id, method } = message as Message;
    if (method === undefined) settle(id);
  };
  transport.onclose = () => {
    end?.();
    closed.resolve();
  };

  return {
    closed: closed.promise,
    async answered() {
      if (open.size === 0) return;
      none = Promise.withResolvers<void>();
      await none.promise;
    },
  };
}

/** A subscription has its answer when it ends. */
function isAnswered({ id, method }: Message): boolean {
  return id !== undefined && method !== undefined && method !== 'subscriptions/listen';
}
