/** Connects to a server: tries the modern protocol, then the legacy handshake, then the old SSE transport.
 *  It must never leave a process or a stream behind when it fails. */
import {
  Client,
  type JSONRPCMessage,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { isObject } from '../contract/json/json-object.ts';
import { CONTRACT_VERSION } from '../contract/version.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import { createAnswerGuard } from './transport/answer-guard.ts';
import { type ConnectFault, connectFault, isDenied, isTimeout, isUnreached } from './connect-fault.ts';
import { createHttpFetch, type RefusedMessage } from './transport/http-fetch.ts';
import { createHttpTransport } from './transport/http-transport.ts';
import { dataIn, deliverInOrder, idOfRefused, refusedAnswer } from './transport/message-delivery.ts';
import { LISTING_LIMITS } from './transport/message-limits.ts';
import { bearerOf } from './oauth/bearer.ts';
import { deniedHint } from './oauth/login-fault.ts';
import type { TokenSource } from './oauth/token-source.ts';
import { createPace } from './pace.ts';
import { createOpenApiTransport } from './openapi/openapi-transport.ts';
import { createReplyGate } from './questions/reply-gate.ts';
import type { HttpTransportOptions, McpServerOptions, StdioTransportOptions } from './server-options.ts';
import { openedSession, type Session, type SessionTransport, type TransportKind } from './session.ts';
import type { OnOutput } from './transport/output-tail.ts';
import { createStdioTransport } from './transport/stdio-transport.ts';
import { TASKS_EXTENSION } from './tasks/task.ts';

/** Facts from earlier attempts, which save the next connection a wait. */
export interface ProtocolMemory {
  /** The server did not answer the probe, or ended because of it: no more probes. */
  legacyOnly: boolean;
  /** The server supports only the old SSE transport. */
  sseOnly: boolean;
  /** How often it has refused the older handshake, which announces less each time. */
  announced: number;
}

export interface OpenOptions {
  readonly server: McpServerOptions;
  /** Default: the server gets the headers of its options, and no token. */
  readonly tokens?: TokenSource | null;
  readonly memory: ProtocolMemory;
  readonly probeTimeoutMs: number;
  readonly stopped: AbortSignal;
  readonly logger: Logger;
  /** Gets the output of the server's program. Default: the log alone has it. */
  readonly onOutput?: OnOutput | undefined;
  /** Most time for an attempt by one transport, milliseconds. Default: that of the server's program, or 90 000. */
  readonly connectMs?: number;
}

export type Opened =
  | { readonly ok: true; readonly session: Session }
  | { readonly ok: false; readonly fault: ConnectFault; readonly error: unknown };

/** How long a server that runs elsewhere may take to answer the handshake. Milliseconds. */
const HANDSHAKE_MS = 60_000;
/** Most time to connect by one transport: not every step of it has a limit of its own. Milliseconds. */
const CONNECT_MS = 90_000;

export async function openSession(options: OpenOptions): Promise<Opened> {
  const { transport } = options.server;
  if (transport.kind === 'stdio') return openStdio(options, transport);
  if (transport.kind === 'openapi')
    return connect(options, 'http', () => createOpenApiTransport(transport), true);
  return withAddress(await openHttp(options, transport), transport);
}

/** A status alone does not show that the address is wrong. */
function withAddress(opened: Opened, { url }: HttpTransportOptions): Opened {
  if (opened.ok || !/^HTTP \d{3}$/.test(opened.fault.message)) return opened;
  const message = `${opened.fault.message} at ${addressText(url)}`;
  return { ...opened, fault: { ...opened.fault, message } };
}

/** A longer part of a path may be a key. */
const LONGEST_SHOWN_PART = 24;

function addressText(url: string): string {
  const { origin, pathname } = new URL(url);
  const parts = pathname.split('/').map((part) => (part.length > LONGEST_SHOWN_PART ? '…' : part));
  return `${origin}${parts.join('/')}`.slice(0, 200);
}

async function openStdio(options: OpenOptions, stdio: StdioTransportOptions): Promise<Opened> {
  const transport = (): SessionTransport => createStdioTransport(stdio, options.logger, options.onOutput);
  if (options.memory.legacyOnly) return connect(options, 'stdio', transport, true);
  const opened = await connect(options, 'stdio', transport, false);
  // The server has ended at a message that is not `initialize`, or has not answered it.
  if (opened.ok || options.stopped.aborted || !isNegotiationFailure(opened.error)) return opened;
  const again = await connect(options, 'stdio', transport, true);
  options.memory.legacyOnly = again.ok;
  return again;
}

async function openHttp(options: OpenOptions, http: HttpTransportOptions): Promise<Opened> {
  const { memory, stopped, tokens = null } = options;
  const streamable = (): SessionTransport => createHttpTransport(http, tokens);
  const sseTransport = (): SessionTransport => createSseTransport(http, tokens);
  if (memory.sseOnly) return connect(options, 'sse', sseTransport, true);
  if (memory.legacyOnly) return connect(options, 'http', streamable, true);
  const opened = await connect(options, 'http', streamable, false);
  if (opened.ok || stopped.aborted || isUnreached(opened.error) || isDenied(opened.error)) return opened;
  const wasSilent = isTimeout(opened.error);
  const legacy = isNotStreamable(opened.error) ? opened : await connect(options, 'http', streamable, true);
  memory.legacyOnly = legacy.ok && wasSilent;
  if (legacy.ok || stopped.aborted || !isNotStreamable(legacy.error)) return legacy;
  const sse = await connect(options, 'sse', sseTransport, true);
  memory.sseOnly = sse.ok;
  return sse;
}

/** Announces less to a server that refuses the handshake: there are servers that know no other capability than their own. */
async function connect(
  options: OpenOptions,
  kind: TransportKind,
  create: () => SessionTransport,
  legacy: boolean,
): Promise<Opened> {
  const { memory, server, stopped } = options;
  for (;;) {
    const opened = await connectOnce(options, kind, announcing(create(), memory.announced), legacy);
    const mayBeHeard = server.questions === true && memory.announced < LEAST_ANNOUNCED;
    if (opened.ok || stopped.aborted || !mayBeHeard || !isHandshakeRefused(opened.error)) return opened;
    memory.announced += 1;
  }
}

/** Without any way to ask a person. */
const LEAST_ANNOUNCED = 2;

/** In the older handshake extensions mean nothing, and some servers refuse it for them, or for the forms of questions. */
function announcing(transport: SessionTransport, refusals: number): SessionTransport {
  const send = transport.send.bind(transport);
  transport.send = async (message, sendOptions) => send(withLess(message, refusals), sendOptions);
  return transport;
}

function withLess(message: JSONRPCMessage, refusals: number): JSONRPCMessage {
  if (!('method' in message && 'id' in message) || message.method !== 'initialize') return message;
  const { capabilities } = message.params ?? {};
  if (!isObject(capabilities)) return message;
  const { extensions: _, elicitation, ...others } = capabilities;
  const asked =
    elicitation === undefined || refusals >= LEAST_ANNOUNCED
      ? {}
      : { elicitation: refusals === 0 ? elicitation : {} };
  return { ...message, params: { ...message.params, capabilities: { ...others, ...asked } } };
}

function isHandshakeRefused(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 400 || error.status === 500;
  return error instanceof ProtocolError;
}

async function connectOnce(
  options: OpenOptions,
  kind: TransportKind,
  transport: SessionTransport,
  legacy: boolean,
): Promise<Opened> {
  const client = createClient(options);
  const { transport: how } = options.server;
  const { connectMs = (how.kind === 'stdio' ? how.startMs : undefined) ?? CONNECT_MS, stopped } = options;
  const ended = endOf(stopped, connectMs);
  const connected = client.connect(transport, {
    timeout: how.kind === 'stdio' ? connectMs : HANDSHAKE_MS,
    signal: stopped,
    ...(legacy ? { prior: { kind: 'legacy' } as const } : {}),
  });
  try {
    await Promise.race([connected, ended.promise]);
    return { ok: true, session: openedSession(client, transport, kind, sessionOptions(options)) };
  } catch (error) {
    const ending = endingOf(error, transport, how, connectMs);
    await transport.close().catch(() => {});
    // A process that was still starting exists only then.
    if (kind === 'stdio') await connected.catch(() => {}).then(() => transport.close());
    return { ok: false, error, fault: connectFault(error, ending, helpFor(options.server)) };
  } finally {
    ended.dispose();
  }
}

/** How the program ended, or that it did not start in time, with what it printed; '' = another fault. */
function endingOf(
  error: unknown,
  transport: SessionTransport,
  how: McpServerOptions['transport'],
  connectMs: number,
): string {
  const ending = transport.ending?.() ?? '';
  if (ending !== '' || how.kind !== 'stdio' || !isTimeout(error)) return ending;
  const printed = transport.printed?.() ?? '';
  // Arguments are not repeated: they may hold values of the environment.
  const program = how.args.length === 0 ? how.command : `${how.command} …`;
  const late = `\`${program}\` did not answer within ${connectMs} ms (start_timeout_ms)`;
  return printed === '' ? `${late}, and printed nothing` : `${late}; it printed: ${printed}`;
}

function helpFor({ name, transport }: McpServerOptions): (scope: string) => string {
  const grant = transport.kind === 'http' ? transport.auth?.grant : undefined;
  return (scope) => deniedHint(name, grant, scope);
}

function sessionOptions({ logger, server: { questions, sampling } }: OpenOptions) {
  return { logger, questions, sampling };
}

/** Rejects at a stop, or when the attempt takes too long: a transport that waits for the server may not end by itself. */
function endOf(stopped: AbortSignal, connectMs: number): { promise: Promise<never>; dispose(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const stop = (): void => reject(new SdkError(SdkErrorCode.ConnectionClosed, 'The connection was stopped'));
  const expire = (): void =>
    reject(new SdkError(SdkErrorCode.RequestTimeout, `The handshake took longer than ${connectMs} ms`));
  const timer = setTimeout(expire, connectMs);
  stopped.addEventListener('abort', stop, { once: true });
  if (stopped.aborted) stop();
  return {
    promise,
    dispose() {
      clearTimeout(timer);
      stopped.removeEventListener('abort', stop);
    },
  };
}

function createClient({ probeTimeoutMs, server }: OpenOptions): Client {
  return new Client(
    { name: 'adjutant', version: CONTRACT_VERSION },
    {
      // A server whose questions nobody answers must refuse to ask, so that its call fails at once.
      capabilities: {
        extensions: { [TASKS_EXTENSION]: {} },
        ...(server.questions === true ? { elicitation: { form: {}, url: {} } } : {}),
        ...(server.sampling === true ? { sampling: {} } : {}),
      },
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeTimeoutMs } },
      listMaxPages: LISTING_LIMITS.maxPages,
      // Results are validated against our own compiled schemas, once.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    },
  );
}

function isNegotiationFailure(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}

/** How an endpoint of the old SSE transport answers a POST. */
function isNotStreamable(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405, 406, 415].includes(error.status);
}

function createSseTransport(
  { url, headers, privateAddresses }: HttpTransportOptions,
  tokens: TokenSource | null = null,
): Transport {
  const guard = createAnswerGuard();
  const gate = createReplyGate();
  const inner = new SSEClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    ...bearerOf(
      tokens,
      createHttpFetch({
        pace: createPace(),
        privateAddresses,
        answersElsewhere: true,
        onRefused: (message) => answerRefused(transport, message),
      }),
    ),
  });
  const transport: Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion(version),
    send(message) {
      guard.sends(message);
      return gate(message, () => inner.send(message));
    },
  };
  inner.onclose = () => transport.onclose?.();
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onmessage = (message: JSONRPCMessage) =>
    deliverInOrder(guard.checked(message), (next) => transport.onmessage?.(next));
  return transport;
}

function answerRefused(transport: Transport, { reason, head, tail }: RefusedMessage): void {
  const id = idOfRefused(dataIn(head), tail);
  if (id !== null) transport.onmessage?.(refusedAnswer(id, reason));
}
