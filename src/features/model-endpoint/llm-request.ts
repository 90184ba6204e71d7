/** llm_request: one request of a caller, sent to its provider as it is; the answer is kept as it came, and read beside that.
 *  It must never change a byte of the answer, nor let a key of the provider into it. */
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { type HideText, hiding } from '../../contract/json/secret-text.ts';
import { llmRequestSchema, type LlmRequest } from '../../contract/directive/work-directive.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { familyOf, operationOfWire, speaks } from '../../contract/model/model-wire.ts';
import type { RawAnswer, RawHead, RawTurn } from '../../contract/model/raw-answer.ts';
import { MAX_ERROR_BYTES } from '../../models/answers/answer-limits.ts';
import type { AnswerPiece } from '../../models/answers/answer-collector.ts';
import { failure, type ModelFailure, modelFailure, refusedCall } from '../../models/answers/model-failure.ts';
import { reportedError } from '../../models/answers/provider-status.ts';
import { RefusedAnswer } from '../../models/answers/refused-answer.ts';
import { type SpentTokens, spentTokens } from '../../models/answers/spent-tokens.ts';
import { beginLimits, type CallLimits, type LimitSettings } from '../../models/call-limits.ts';
import type { ModelLimiter } from '../../models/model-limiter.ts';
import { followed, isUnsent } from '../../models/requests/sent-requests.ts';
import { boundedBody } from '../../platform/bounds/bounded-response.ts';
import { createSemaphore, type Semaphore } from '../../platform/bounds/semaphore.ts';
import { heldBack } from '../../platform/bounds/while-it-holds.ts';
import { begunCall } from '../../worker/executors/model-call-facts.ts';
import {
  defineDirective,
  type DirectiveDefinition,
  type Execution,
  type ExecutionContext,
} from '../../worker/executors/definition.ts';
import { type BudgetOptions, withinBudget } from '../../worker/executors/llm-budget.ts';
import {
  answeredExecution,
  failedExecution,
  modelMetadata,
  modelOf,
  refused,
} from '../../worker/executors/llm-execution.ts';
import { noteAnswer, noteFailure, refusedByLimit, reserve } from '../../worker/executors/llm-reservation.ts';
import { cheaperAttributes, turnAttributes } from '../../worker/executors/model-attributes.ts';
import { type AnswerReader, createAnswerReader } from './answer-reader.ts';
import { headOf, isEventStream, readStream, readWhole } from './passed-answer.ts';
import { type ProviderRequest, providerRequest } from './provider-request.ts';
import { type RequestTokens, tokensOfRequest } from './request-tokens.ts';

export interface RequestOptions extends BudgetOptions {
  readonly limiter: ModelLimiter;
}

/** Large answers, and large events of streams, in the memory of a worker at once; each takes its size some times. */
const LARGE_AT_ONCE = 4;
/** Bytes of an answer that is not large. */
const SMALL_BYTES = 1_024 * 1_024;

export function llmRequest(options: RequestOptions): DirectiveDefinition {
  const large = createSemaphore(LARGE_AT_ONCE);
  return defineDirective<LlmRequest>({
    mode: 'queued',
    type: 'llm_request',
    schema: llmRequestSchema,
    repeatPolicy: () => Promise.resolve('idempotent'),
    started: () => null,
    // The events of a stream have many times the characters of the text in them.
    reportCharacters: 64 * 1_024 * 1_024,
    execute: (directive, context) => request(options, large, directive, context),
  });
}

/** A request that is ready to be sent. */
interface Prepared {
  readonly options: RequestOptions;
  readonly large: Semaphore;
  readonly directive: LlmRequest;
  readonly context: ExecutionContext;
  readonly ref: ModelRef;
  readonly request: ProviderRequest;
  readonly tokens: RequestTokens;
  readonly limits: LimitSettings;
  readonly metadata: Record<string, unknown>;
}

async function request(
  options: RequestOptions,
  large: Semaphore,
  directive: LlmRequest,
  context: ExecutionContext,
): Promise<Execution> {
  const { providers } = options;
  const ref = modelOf(context);
  if ('error' in ref) return refused(ref.error);
  const metadata = modelMetadata(directive, ref, context, providers);
  const provider = providers.direct(ref.provider);
  if (provider === null || !speaks(provider.type, familyOf(directive.wire)))
    return refused(noWire(ref, directive), metadata);
  if (!isJsonObject(directive.body)) return refused(notJson(), metadata);
  const settings = providers.settings(ref.provider);
  const prepared = {
    options,
    large,
    directive,
    context,
    ref,
    request: providerRequest(provider, ref, directive, context.traceparent),
    tokens: tokensOfRequest(directive.body, operationOfWire(directive.wire)),
    limits: {
      timeoutMs: directive.timeout_ms ?? settings.timeoutMs,
      idleTimeoutMs: directive.idle_timeout_ms ?? settings.idleTimeoutMs,
    },
    metadata,
  };
  const execution = await budgetedCall(prepared);
  const span = { ...execution.span, ...cheaperAttributes(context) };
  return { ...execution, span, metadata: { ...metadata, ...execution.metadata } };
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

function notJson(): ErrorEnvelope {
  return errorEnvelope('validation_error', 'body: must be the JSON text of an object', { field: 'body' });
}

/** The worker of another version may serve other providers than the API knew. */
function noWire({ name, provider }: ModelRef, { wire }: LlmRequest): ErrorEnvelope {
  const message = `this worker does not serve the provider "${provider}" of "${name}" in the form of ${familyOf(wire)}`;
  return errorEnvelope('unknown_model', message, { model: name, wire });
}

/** A count of tokens costs nothing. A cheaper model answers only where it reads the same wire. */
async function budgetedCall(prepared: Prepared): Promise<Execution> {
  const { options, directive, context, ref, tokens, limits } = prepared;
  if (directive.wire === 'anthropic_count_tokens') return limitedCall(prepared);
  const speaking = (name: string): boolean => {
    const provider = options.providers.direct(name.split(':')[0] ?? '');
    return provider !== null && speaks(provider.type, familyOf(directive.wire));
  };
  const modelsOf = (name: string): string[] => options.modelsOf(name).filter(speaking);
  const most = () => ({ input: tokens.mostInput, output: tokens.mostOutput });
  const mayChange = operationOfWire(directive.wire) === 'chat';
  const call = { ref, context, most, timeoutMs: limits.timeoutMs, mayChange };
  return withinBudget({ ...options, modelsOf }, call, async () => limitedCall(prepared));
}

async function limitedCall(prepared: Prepared): Promise<Execution> {
  const { options, ref, tokens, context } = prepared;
  const reservation = await reserve(options.limiter, ref, tokens.input + tokens.mostOutput);
  if (!reservation.ok) return refusedByLimit(ref, reservation);
  const execution = await begunCall(context.mayBegin, async () => call(prepared));
  const spent = execution.metadata?.['usage_so_far'] as { total_tokens: number } | undefined;
  reservation.record(execution.usage?.total_tokens ?? spent?.total_tokens ?? 0);
  return execution;
}

/** The call itself, and how far it is. */
interface Call extends Prepared {
  readonly reader: AnswerReader;
  readonly stops: CallLimits;
  readonly startedAt: number;
  readonly hide: HideText;
  readonly place: ReturnType<typeof placeIn>;
  /** null: the provider has not answered yet. */
  answer: RawAnswer | null;
  firstChunkMs: number | null;
}

async function call(prepared: Prepared): Promise<Execution> {
  const { context, directive, large, limits, request: sent } = prepared;
  const stops = beginLimits(context.signal, limits);
  const made: Call = {
    ...prepared,
    reader: createAnswerReader(directive.wire),
    stops,
    place: placeIn(large, context.whenRecorded, stops.signal),
    startedAt: performance.now(),
    hide: lazily(sent.secrets),
    answer: null,
    firstChunkMs: null,
  };
  let isRead = false;
  try {
    const execution = await answered(made, await send(sent, made.stops.signal));
    isRead = true;
    return execution;
  } catch (thrown) {
    const found = stoppedBy(made) ?? modelFailure(thrown, made.ref, Date.now());
    return await failed(made, found);
  } finally {
    made.stops.end(!isRead);
  }
}

/** Most answers hold no error: the secrets are prepared for the first one. */
function lazily(secrets: readonly string[]): HideText {
  let hide: HideText | null = null;
  return (text) => (hide ??= hiding(secrets))(text);
}

async function send({ url, headers, body }: ProviderRequest, signal: AbortSignal): Promise<Response> {
  const init = heldBack({ method: 'POST', headers, body, redirect: 'manual', signal });
  const response = await followed(signal, async () => globalThis.fetch(url, init));
  if (![301, 302, 303, 307, 308].includes(response.status)) return response;
  void response.body?.cancel().catch(() => {});
  throw new RefusedAnswer(
    'redirect',
    'the provider redirects; redirects are not followed: correct its base_url',
  );
}

async function answered(made: Call, response: Response): Promise<Execution> {
  const { reader, hide, place } = made;
  const streamed = response.ok && isEventStream(response);
  const head = headOf(response, hide);
  if (!response.ok) return refusedBy(made, response);
  if (response.body === null) return turnExecution({ ...made, answer: { ...head, streamed, body: '' } });
  if (!streamed) return answeredWhole(made, head, response.body);
  made.answer = { ...head, streamed, body: '' };
  let isKept = true;
  const rest = await readStream(response.body, reader, {
    take: async (text, pieces) => (isKept = await report(made, text, pieces)),
    limits: made.stops,
    signal: made.stops.signal,
    place,
  });
  made.stops.signal.throwIfAborted();
  // A complete answer does not fail for want of a place.
  if (reader.answer.text.length + reader.answer.thinking.length > place.from)
    await place.take().catch(() => {});
  if (!isKept) return failed({ ...made, answer: null }, notKept(made));
  const error = reader.error();
  made.answer = { ...made.answer, body: error === null ? rest : hide(rest) };
  if (error !== null) return failed(made, reportedFailure(made, error));
  // Half an event is no answer for a caller, who gets an error of the service instead.
  return reader.isComplete() ? turnExecution(made) : failed({ ...made, answer: null }, interrupted(made));
}

async function answeredWhole(
  made: Call,
  head: RawHead,
  stream: NonNullable<Response['body']>,
): Promise<Execution> {
  const { reader, directive, hide, place } = made;
  const body = await readWhole(stream, directive.wire, reader, place);
  const error = reader.error();
  made.answer = { ...head, streamed: false, body: error === null ? body : hide(body) };
  return error === null ? turnExecution(made) : failed(made, reportedFailure(made, error));
}

/** The place of one call among the large answers of a process, until it leaves it or its outcome is recorded. */
function placeIn(large: Semaphore, whenRecorded: ExecutionContext['whenRecorded'], signal: AbortSignal) {
  let isTaken = false;
  const leave = (): void => {
    if (isTaken) large.release();
    isTaken = false;
  };
  return {
    from: SMALL_BYTES,
    leave,
    async take(): Promise<void> {
      if (!isTaken && (await large.take(signal))) {
        isTaken = true;
        whenRecorded(leave);
      }
      signal.throwIfAborted();
    },
  };
}

/** The first text of an attempt brings the head of the answer. false: the log takes no more of it. */
async function report(made: Call, text: string, pieces: readonly AnswerPiece[]): Promise<boolean> {
  const { context, directive, startedAt, answer } = made;
  const call_id = directive.id;
  const isFirst = made.firstChunkMs === null;
  made.firstChunkMs ??= Math.round(performance.now() - startedAt);
  if (text !== '') {
    const { status, headers } = answer ?? { status: 200, headers: {} };
    const head = isFirst ? { head: { status, headers } } : {};
    context.report('ai.llm.raw', { call_id, text, ...head, metadata: {} });
  }
  for (const piece of pieces) context.report('ai.llm.delta', { call_id, ...deltaOf(piece), metadata: {} });
  return context.drained();
}

function deltaOf(piece: AnswerPiece) {
  if (piece.kind !== 'tool_call') return { delta: piece.text, chunk_type: piece.kind };
  const { index, id, wireName: name, input } = piece;
  return { delta: { index, id, name, arguments: input }, chunk_type: piece.kind };
}

/** A refusal is kept with its status, so that the caller gets it as it came. */
async function refusedBy(made: Call, response: Response): Promise<Execution> {
  const { hide, ref } = made;
  const { bytes } = await boundedBody(response.body, MAX_ERROR_BYTES);
  const body = hide(bytes.toString('utf8'));
  made.answer = { ...headOf(response, hide), streamed: false, body };
  const headers = Object.fromEntries([...response.headers].map(([name, value]) => [name, hide(value)]));
  const refusal = { status: response.status, message: '', body, headers };
  return failed(made, refusedCall(refusal, ref, Date.now()));
}

/** The failure of an error in the body of a success. */
function reportedFailure({ ref, hide }: Call, error: unknown): ModelFailure {
  const response = (error as { response?: unknown }).response;
  const reported = reportedError(error) ?? reportedError(response);
  const body = hide(JSON.stringify(error).slice(0, MAX_ERROR_BYTES));
  const message = hide(reported?.members.message ?? 'the provider reports an error');
  const refusal = { status: reported?.status ?? 500, message, body, headers: {} };
  return { ...refusedCall(refusal, ref, Date.now()), mayHaveCost: true };
}

/** The rest would be paid for, and its caller could not get it. */
function notKept({ ref }: Call): ModelFailure {
  const details = { model: ref.name, reason: 'too_large' };
  const message = 'the answer is larger than its request may hold (limits.request_bytes)';
  return failure('invalid_result', message, details, { mayHaveCost: true });
}

function interrupted({ ref }: Call): ModelFailure {
  const details = { model: ref.name, reason: 'interrupted' };
  return failure('provider_error', 'the provider’s answer ended before it was complete', details);
}

function stoppedBy({ stops, ref, limits, answer }: Call): ModelFailure | null {
  const stop = stops.stop();
  const details = { model: ref.name, answered: answer !== null };
  const cost = { mayHaveCost: !isUnsent(stops.signal) };
  switch (stop) {
    case null:
      return null;
    case 'caller':
      return failure('cancelled', 'the call was stopped', details, cost);
    case 'total': {
      const message = `no complete answer within ${limits.timeoutMs} ms`;
      return failure('timeout', message, { ...details, limit: 'total', timeout_ms: limits.timeoutMs }, cost);
    }
    case 'idle': {
      const message = `the answer stopped for ${limits.idleTimeoutMs} ms before its end`;
      return failure('timeout', message, { ...details, limit: 'idle', timeout_ms: limits.idleTimeoutMs });
    }
  }
}

/** The error keeps what the provider sent, so that the caller gets it where no other attempt follows. */
async function failed(made: Call, found: ModelFailure): Promise<Execution> {
  const { options, ref, metadata, answer } = made;
  await noteFailure(options.limiter, ref, found);
  const details = answer === null ? found.error.details : { ...found.error.details, answer };
  const detailed = { ...found, error: { ...found.error, details } };
  return failedExecution(detailed, spentOn(made, found), metadata);
}

function spentOn({ reader, tokens, directive }: Call, { mayHaveCost }: ModelFailure): SpentTokens | null {
  const { usage, text, thinking } = reader.answer;
  if (directive.wire === 'anthropic_count_tokens' || !mayHaveCost) return null;
  const reported = { input: usage?.input_tokens ?? null, output: usage?.output_tokens ?? null };
  return spentTokens(reported, tokens.input, text.length + thinking.length);
}

async function turnExecution(made: Call): Promise<Execution> {
  const { options, ref, directive, metadata } = made;
  const turn = turnOf(made);
  await noteAnswer(options.limiter, ref, turn.raw.headers);
  const { providers } = options;
  const payload = { payload: turn, usage: turn.usage, durationMs: turn.duration_ms };
  const noted = { ...metadata, finish_reason: turn.finish_reason, ...uncounted(made, turn) };
  return { ...answeredExecution(payload, directive, ref, providers, noted), span: turnAttributes(turn) };
}

/** A stream of chat completions has no usage unless its caller asks for it: the tokens are estimated then. */
function uncounted(made: Call, { usage }: RawTurn): Record<string, unknown> {
  if (usage !== null || made.directive.wire === 'anthropic_count_tokens') return {};
  const { text, thinking } = made.reader.answer;
  const spent = spentTokens({ input: null, output: null }, made.tokens.input, text.length + thinking.length);
  return { usage_so_far: spent };
}

function turnOf({ reader, ref, startedAt, firstChunkMs, answer, directive }: Call): RawTurn {
  const { text, thinking, model, finish } = reader.answer;
  const tool_calls = reader.toolCalls();
  return {
    type: tool_calls.length > 0 ? 'tool_calls' : 'final_answer',
    text: text.toWellFormed(),
    thinking: thinking.toWellFormed(),
    tool_calls,
    usage: directive.wire === 'anthropic_count_tokens' ? null : reader.answer.usage,
    model: model ?? ref.model,
    finish_reason: finish,
    duration_ms: Math.round(performance.now() - startedAt),
    first_chunk_ms: firstChunkMs,
    raw: answer ?? { status: 200, headers: {}, streamed: false, body: '' },
  };
}
