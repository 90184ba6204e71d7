/** One live connection to one server: a connected SDK client and its transport.
 *  It must never be used again after a loss: the next session is another object. */
import {
  type Client,
  type ProgressCallback,
  ProtocolError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  type Transport,
} from '@modelcontextprotocol/client';
import * as z from 'zod';
import { TASK_META } from './transport/answer-guard.ts';
import { hasStatusOfLostSession, isDenied, isTimeout, tellsOfLostSession } from './connect-fault.ts';
import { ANSWER_LOST } from './transport/message-delivery.ts';
import type { ServerRead } from '../contract/tool/server-read.ts';
import type { QuestionAnswer, ToolQuestion } from '../contract/tool/tool-question.ts';
import { type Askers, findAskers, onStreamOf } from './questions/askers.ts';
import { answerQuestions, answerSampling } from './questions/legacy-questions.ts';
import type { OnSampling } from './questions/sampling.ts';
import { readTask, type TaskReport } from './tasks/task.ts';
import type { RawToolResult, ToolCallSession } from './tools/tool-call.ts';
import type { Logger } from '../platform/telemetry/logger.ts';

export interface CallParams {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly _meta: Record<string, unknown>;
  /** Answers that the server requested in an earlier call with the same arguments. */
  readonly inputResponses?: Record<string, unknown>;
  readonly requestState?: string;
  /** The older protocol: the server makes a task of the call, and keeps it for so long from its beginning. Milliseconds. */
  readonly task?: { readonly ttl: number };
}

/** Rejects when the server wants no answer any more. */
export type OnQuestion = (question: ToolQuestion, withdrawn: AbortSignal) => Promise<QuestionAnswer>;

export interface CallListeners {
  readonly onProgress: ProgressCallback;
  /** A legacy server asks while it works on the call. Default: questions are cancelled. */
  readonly onQuestion?: OnQuestion;
  /** It wants a model to answer. Default: it is refused. */
  readonly onSampling?: OnSampling;
  /** The server asks, perhaps on behalf of this call: it gets no other call until this one has ended. */
  readonly onAsked?: () => void;
  /** The task that the request is about, which its questions name. Default: it is about none. */
  readonly taskId?: string;
}

/** Answer of a server to a call. `task` null: one that cannot be read. */
export type CallAnswer =
  | { readonly kind: 'result'; readonly result: RawToolResult }
  | { readonly kind: 'task'; readonly task: TaskReport | null }
  /** It wants something first. */
  | { readonly kind: 'asks'; readonly required: Readonly<Record<string, unknown>> };

export interface TaskRequest {
  readonly method: 'tasks/get' | 'tasks/cancel' | 'tasks/update' | 'tasks/result';
  readonly more?: Readonly<Record<string, unknown>>;
  readonly taskId: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Handles questions of the server before its answer. Default: questions are cancelled. */
  readonly onQuestion?: OnQuestion | undefined;
  /** The same of a model. Default: it is refused. */
  readonly onSampling?: OnSampling | undefined;
}

export interface Session {
  readonly client: Client;
  readonly era: 'modern' | 'legacy';
  readonly transportKind: TransportKind;
  readonly pid: number | null;
  /** Whether a server of the older protocol makes tasks of calls that ask for it. */
  readonly makesTasks: boolean;
  /** Identity of the session for traces. */
  described(): ToolCallSession;
  /** Resolves with a readable reason once the connection has ended. */
  readonly lost: Promise<string>;
  /** Why the connection has ended; '' = it has not. */
  ending(): string;
  holdsSessionId(): boolean;
  /** Whether the server, asked once more, says that it does not know the session. */
  isForgotten(): Promise<boolean>;
  /** A call has had no answer in time: a process that answers nothing any more is replaced. Returns at once. */
  doubt(): void;
  call(params: CallParams, signal: AbortSignal, listeners: CallListeners): Promise<CallAnswer>;
  /** The unchanged answer. */
  task(request: TaskRequest): Promise<unknown>;
  /** The same for requests besides tool calls. Rejects where it asks for something first. */
  read(
    method: ServerRead,
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<RawAnswer>;
  /** Takes no more calls, but lets those in flight finish before it ends. */
  retire(why: string): Promise<void>;
  /** Resolves once no process and no open stream is left. */
  end(why: string): Promise<void>;
}

export type RawAnswer = Readonly<Record<string, unknown>>;
export type TransportKind = 'stdio' | 'http' | 'sse';

/** Transports of this package have more members than the SDK needs. */
export type SessionTransport = Transport & {
  readonly pid?: number | null;
  lastMessageAt?(): number;
  ending?(): string;
  /** The line of a program's output that most likely explains a fault; '' = it has printed nothing. */
  printed?(): string;
  endSession?(): Promise<void>;
};

/** Calls have their own deadline, so the SDK's is set to the maximum. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;
const VERIFY_MS = 5_000;
/** How long a process whose call has timed out may take for each of two questions before it is replaced. */
const SILENT_MS = 3_000;
const ANY_RESULT = z.looseObject({});

export interface SessionOptions {
  readonly logger: Logger;
  /** The client has declared elicitation, or sampling. Default: neither. */
  readonly questions?: boolean | undefined;
  readonly sampling?: boolean | undefined;
}

export function openedSession(
  client: Client,
  transport: SessionTransport,
  transportKind: TransportKind,
  { logger, questions = false, sampling = false }: SessionOptions,
): Session {
  const era = client.getProtocolEra() === 'modern' ? 'modern' : 'legacy';
  let why = '';
  const lost = Promise.withResolvers<string>();
  const ending = (): string => why || (transport.ending?.() ?? '');
  client.onclose = () => lost.resolve(ending() || 'the connection closed');
  const end = async (reason: string): Promise<void> => {
    why ||= reason;
    await transport.endSession?.();
    await transport.close().catch(() => {});
  };
  const inFlight = new Map<Promise<unknown>, CallListeners>();
  const offered = { questions: questions && era === 'legacy', sampling: sampling && era === 'legacy' };
  const askers = startedAskers(client, offered, () => findAskers(transport, inFlight, logger));
  const during = async <T>(send: () => Promise<T>, listeners: CallListeners): Promise<T> => {
    const answer = onStreamOf(listeners, send);
    inFlight.set(answer, listeners);
    return answer.finally(() => {
      inFlight.delete(answer);
      askers?.changed();
    });
  };
  const holdsSessionId = (): boolean => transport.sessionId !== undefined;
  const askForLife = sharedLife(async () => lifeOf(client, holdsSessionId()));
  watchErrors({ client, transportKind, era, askForLife, end, logger });
  const lose = (reason: string): void => lost.resolve((why ||= reason));
  const doubt = createDoubt({ client, era, transport, calls: () => inFlight.keys(), lose });
  return {
    client,
    era,
    transportKind,
    pid: transport.pid ?? null,
    makesTasks: era === 'legacy' && offersTasks(client),
    lost: lost.promise,
    ending,
    holdsSessionId,
    isForgotten: async () => (await askForLife()) === 'forgotten',
    doubt: transportKind === 'stdio' ? doubt : () => {},
    described: () => ({
      transport: transportKind,
      protocolVersion: client.getNegotiatedProtocolVersion() ?? null,
      sessionId: transport.sessionId ?? null,
    }),
    async call(params, signal, listeners) {
      const send = async () => sendCall(client, { era, transportKind }, params, signal, listeners.onProgress);
      return callAnswer((await during(send, listeners)) as RawToolResult, era);
    },
    task: async ({ method, taskId, more, timeoutMs: timeout, signal, onQuestion, onSampling }) => {
      const options = signal === undefined ? { timeout } : { timeout, signal };
      const answers = { ...(onQuestion && { onQuestion }), ...(onSampling && { onSampling }) };
      return during(
        async () => client.request({ method, params: { taskId, ...more } }, ANY_RESULT, options),
        { ...NO_LISTENERS, ...answers, taskId },
      );
    },
    read: async (method, params, signal) => {
      const options = { signal, timeout: NO_TIMEOUT_MS };
      const ask = async () => client.request({ method, params: { ...params } }, ANY_RESULT, options);
      return during(ask, { ...NO_LISTENERS });
    },
    async retire(reason) {
      lose(reason);
      await Promise.allSettled(inFlight.keys());
      await end(reason);
    },
    end,
  };
}

/** Without the declared capability the SDK refuses the handler, and the server does not ask. */
function startedAskers(
  client: Client,
  { questions, sampling }: { questions: boolean; sampling: boolean },
  find: () => Askers,
): Askers | null {
  if (!questions && !sampling) return null;
  const askers = find();
  if (questions) answerQuestions(client, askers);
  if (sampling) answerSampling(client, askers);
  return askers;
}

function offersTasks(client: Client): boolean {
  return client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
}

async function sendCall(
  client: Client,
  { era, transportKind }: Pick<Session, 'era' | 'transportKind'>,
  params: CallParams,
  signal: AbortSignal,
  onprogress: ProgressCallback,
): Promise<unknown> {
  const options = { signal, onprogress, timeout: NO_TIMEOUT_MS, allowInputRequired: true } as const;
  // Only the modern HTTP binding needs what `callTool` adds: arguments mirrored into headers.
  if (era === 'modern' && transportKind === 'http') return client.callTool(params, options);
  return client.request({ method: 'tools/call', params: eraParams(era, params) }, options);
}

/** A legacy server is called again, and not answered: it knows by itself that its page was opened. */
function eraParams(era: Session['era'], params: CallParams): Record<string, unknown> & { name: string } {
  const { inputResponses: _, requestState: __, ...plain } = params;
  return era === 'legacy' ? plain : { ...params };
}

const NO_LISTENERS: CallListeners = { onProgress: () => {} };

function callAnswer(result: RawToolResult, era: Session['era']): CallAnswer {
  if (result['resultType'] === 'input_required') return { kind: 'asks', required: result };
  const task = result._meta?.[TASK_META];
  if (task === undefined) return { kind: 'result', result };
  const read = readTask(task);
  // In the older protocol its end is asked for, however early it has come.
  return { kind: 'task', task: read !== null && era === 'legacy' ? { ...read, status: 'working' } : read };
}

interface Doubted {
  readonly client: Client;
  readonly era: Session['era'];
  readonly transport: SessionTransport;
  readonly calls: () => Iterable<Promise<unknown>>;
  readonly lose: (why: string) => void;
}

/** One question at a time, however many calls have timed out. */
function createDoubt({ client, era, transport, calls, lose }: Doubted): () => void {
  let isOpen = false;
  const isSilent = async (): Promise<boolean> => {
    const askedAt = performance.now();
    const older = [...calls()];
    await askedInVain(client, era);
    // A server that works on one call at a time may not read before it has ended that one.
    await Promise.allSettled(older);
    return (transport.lastMessageAt?.() ?? Infinity) < askedAt;
  };
  return () => {
    if (isOpen) return;
    isOpen = true;
    void isSilent().then((silent) => {
      isOpen = false;
      if (silent) lose('it does not answer any more');
    });
  };
}

type Life = 'alive' | 'forgotten' | 'silent' | 'unreachable';

/** Calls that fail together ask once; a session that is forgotten stays so, also after it has been closed for that. */
function sharedLife(ask: () => Promise<Life>): () => Promise<Life> {
  let asked: Promise<Life> | null = null;
  return () =>
    (asked ??= ask().then((life) => {
      if (life !== 'forgotten') asked = null;
      return life;
    }));
}

/** Any answer of the server itself shows that it lives: not every server knows `ping`. */
async function lifeOf(client: Client, holdsSessionId: boolean): Promise<Life> {
  try {
    await client.ping({ timeout: VERIFY_MS });
    return 'alive';
  } catch (error) {
    if (isTimeout(error)) return 'silent';
    if (holdsSessionId && (hasStatusOfLostSession(error) || tellsOfLostSession(error))) return 'forgotten';
    if (error instanceof ProtocolError) return error.code === ANSWER_LOST ? 'unreachable' : 'alive';
    const isRefusal = error instanceof SdkHttpError && error.status >= 400 && error.status < 500;
    return isRefusal && !isDenied(error) ? 'alive' : 'unreachable';
  }
}

/** Resolves when an answer has come, or none can be expected. Some servers ignore a ping; all have answered with their tools. */
async function askedInVain(client: Client, era: Session['era']): Promise<void> {
  const options = { timeout: SILENT_MS };
  const hasNoAnswer = era === 'modern' || (await client.ping(options).then(() => false, isTimeout));
  if (hasNoAnswer) await client.request({ method: 'tools/list' }, ANY_RESULT, options).catch(() => {});
}

interface Watched {
  readonly client: Client;
  readonly transportKind: TransportKind;
  readonly era: 'modern' | 'legacy';
  readonly askForLife: () => Promise<Life>;
  readonly end: (why: string) => Promise<void>;
  readonly logger: Logger;
}

/** Most errors here are harmless (a progress note after its response). Only those about the stream of a session count. */
function watchErrors(watched: Watched): void {
  const { client, transportKind, era, askForLife, end, logger } = watched;
  let verifying = false;
  client.onerror = (error) => {
    // The messages quote whole protocol messages, results included, so only the name is logged.
    logger.debug({ error: error.name }, 'MCP connection reported an error');
    // The SSE transport would reconnect by itself, to a session that was never initialised.
    if (error instanceof SseError) return void end('the event stream broke');
    if (transportKind !== 'http' || era !== 'legacy' || verifying || !isStreamFailure(error)) return;
    verifying = true;
    void askForLife().then((life) => {
      verifying = false;
      if (life === 'forgotten') void end('the session is gone');
      if (life === 'unreachable') void end('the server cannot be reached');
    });
  };
}

function isStreamFailure(error: Error): boolean {
  if (error instanceof SdkHttpError) return error.code === SdkErrorCode.ClientHttpFailedToOpenStream;
  return error.message.startsWith('Maximum reconnection attempts');
}
