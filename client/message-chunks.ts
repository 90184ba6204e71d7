/** Chunks of the AI SDK's messages (version 7 or newer) from the signals of a run.
 *  It must never show text that a restart has voided. The same signals give the same chunks, with the same ids. */
import { type FoldedCalls, readDelta, type Signal, type TextEvent } from '../src/client/plain-client.ts';

type Part = 'text' | 'reasoning';
type Call<Type extends string, Fields = object> = { type: `tool-${Type}`; toolCallId: string } & Fields;
type Data = {
  type: `data-${'question' | 'budget' | 'progress'}`;
  id: string;
  data: object;
  transient?: true;
};
type DataOf<Type extends Signal['type']> = Extract<Signal, { type: Type }>['data'];
type End = Extract<Signal, { type: 'ai.request.completed' | 'ai.request.failed' }>;

/** Chunk of a message, as the AI SDK's `UIMessageChunk`. Calls have the ids of the log, which `client.runs.decide` takes. */
export type MessageChunk =
  | { type: 'start'; messageId: string }
  | { type: 'start-step' | 'reset-step' | 'finish-step' }
  | { type: `${Part}-${'start' | 'end'}`; id: string }
  | { type: `${Part}-delta`; id: string; delta: string }
  | Call<'input-available', { toolName: string; input: unknown; dynamic: true; providerExecuted: true }>
  | Call<'approval-request', { approvalId: string }>
  | { type: 'tool-approval-response'; approvalId: string; approved: boolean; reason?: string }
  | Call<'output-available', { output: unknown }>
  | Call<'output-error', { errorText: string }>
  | Call<'output-denied'>
  | (Omit<Data, 'data'> & { data: object | string })
  | { type: 'finish'; finishReason: 'stop' | 'length' | 'other' }
  | { type: 'abort'; reason: string }
  | { type: 'error'; errorText: string };

/** The message so far. */
interface Told {
  /** Model calls by their ids, each folded alone: a fold is copied with each signal. */
  readonly calls: Map<string, FoldedCalls>;
  /** Model call of the current step; null: none. */
  step: string | null;
  /** Part that more text may follow; null: none. */
  open: { readonly kind: Part; readonly id: string } | null;
  /** Tool calls by their ids. */
  readonly tools: Map<string, 'called' | 'asked' | 'denied'>;
  /** Questions of tools and for budgets, by their ids. */
  readonly questions: Map<string, Data>;
  /** End of the run, which a resume takes back; null: none. */
  end: End | null;
}

/** The signals of a request from its beginning as chunks of one message. `stop`: no end is told of signals that were stopped. */
export async function* messageChunks(
  signals: AsyncIterable<Signal>,
  requestId: string,
  stop: AbortSignal,
): AsyncGenerator<MessageChunk, void, undefined> {
  const told: Told = {
    calls: new Map(),
    step: null,
    open: null,
    tools: new Map(),
    questions: new Map(),
    end: null,
  };
  yield { type: 'start', messageId: requestId };
  for await (const signal of signals) {
    for (const event of textEvents(told, signal)) yield* textChunks(told, event);
    yield* signalChunks(told, signal).map(readable);
  }
  if (!stop.aborted) yield* endChunks(told);
}

/** The chunk, with a value as JSON text that the AI SDK refuses to parse: a page would end with an error at each reload. */
function readable(chunk: MessageChunk): MessageChunk {
  if ('input' in chunk) return { ...chunk, input: readableValue(chunk.input) };
  if ('output' in chunk) return { ...chunk, output: readableValue(chunk.output) };
  if ('data' in chunk) return { ...chunk, data: readableValue(chunk.data) as object | string };
  return chunk;
}

function readableValue(value: unknown): unknown {
  let isRefused = false;
  const text = JSON.stringify(value, (name, member: unknown) => {
    const isObject = typeof member === 'object' && member !== null;
    isRefused ||=
      name === '__proto__' || (name === 'constructor' && isObject && Object.hasOwn(member, 'prototype'));
    return member;
  });
  return isRefused ? text : value;
}

function textEvents({ calls }: Told, signal: Signal): readonly TextEvent[] {
  if (signal.type !== 'ai.llm.delta' && signal.type !== 'ai.llm.response') return [];
  const { call_id: id } = signal.data;
  const read = readDelta(calls.get(id) ?? new Map(), signal);
  calls.set(id, read.calls);
  return read.events;
}

function signalChunks(told: Told, signal: Signal): readonly MessageChunk[] {
  const { type, data } = signal;
  if (type === 'ai.tool.started') return calledChunks(told, data);
  if (type === 'ai.tool.progress')
    return [{ type: 'data-progress', id: data.call_id, data, transient: true }];
  if (type === 'ai.tool.result') return resultChunks(told, data);
  if (type === 'ai.tool.approval_requested') return askedChunks(told, data);
  if (type === 'ai.tool.approval_decided') return decidedChunks(told, data);
  if (type === 'ai.tool.input_requested')
    return questionChunks(told, { type: 'data-question', id: data.input_id, data });
  if (type === 'ai.tool.input_answered') return answerChunks(told, data.input_id, data);
  if (signal.type === 'ai.request.completed' || signal.type === 'ai.request.failed') told.end = signal;
  if (type === 'ai.request.resumed') told.end = null;
  return [];
}

/** Each model call is a step, so that a restart voids its text alone. */
function textChunks(told: Told, event: TextEvent): readonly MessageChunk[] {
  const { call_id: id } = event;
  if (event.kind === 'end') return closedPart(told);
  if (event.kind === 'restart') {
    // A strategy that streams two answers at once keeps the void text of the earlier one, and the new text follows it.
    if (told.step !== id) return closedPart(told);
    told.open = null;
    return [{ type: 'reset-step' }];
  }
  if (event.kind === 'tool_call') return [];
  const kind = event.kind === 'content' ? 'text' : 'reasoning';
  const delta: MessageChunk = { type: `${kind}-delta`, id, delta: event.text };
  if (told.open?.id === id && told.open.kind === kind) return [delta];
  const ended = closedPart(told);
  const step = told.step === id ? [] : beginStep(told, id);
  told.open = { kind, id };
  return [...ended, ...step, { type: `${kind}-start`, id }, delta];
}

function beginStep(told: Told, id: string): readonly MessageChunk[] {
  const isFirst = told.step === null;
  told.step = id;
  return isFirst ? [{ type: 'start-step' }] : [{ type: 'finish-step' }, { type: 'start-step' }];
}

function closedPart(told: Told): readonly MessageChunk[] {
  if (told.open === null) return [];
  const { kind, id } = told.open;
  told.open = null;
  return [{ type: `${kind}-end`, id }];
}

function calledChunks(
  { tools }: Told,
  call: Pick<DataOf<'ai.tool.started'>, 'call_id' | 'tool_name' | 'arguments'>,
): readonly MessageChunk[] {
  const { call_id: toolCallId, tool_name: toolName, arguments: input = {} } = call;
  tools.set(toolCallId, 'called');
  const type = 'tool-input-available';
  return [{ type, toolCallId, toolName, input, dynamic: true, providerExecuted: true }];
}

/** A call that ended at its acceptance was never started. */
function resultChunks(told: Told, data: DataOf<'ai.tool.result'>): readonly MessageChunk[] {
  const { call_id: toolCallId, tool_name, result } = data;
  const state = told.tools.get(toolCallId);
  const called = state === undefined ? calledChunks(told, { call_id: toolCallId, tool_name }) : [];
  if (state === 'denied') return [{ type: 'tool-output-denied', toolCallId }];
  if (result.ok) return [...called, { type: 'tool-output-available', toolCallId, output: result.payload }];
  return [...called, { type: 'tool-output-error', toolCallId, errorText: result.error.message }];
}

function askedChunks(told: Told, data: DataOf<'ai.tool.approval_requested'>): readonly MessageChunk[] {
  const { call_id: id } = data;
  if ('budget' in data.metadata) return questionChunks(told, { type: 'data-budget', id, data });
  const called = calledChunks(told, data);
  told.tools.set(id, 'asked');
  return [...called, { type: 'tool-approval-request', approvalId: id, toolCallId: id }];
}

function decidedChunks(told: Told, data: DataOf<'ai.tool.approval_decided'>): readonly MessageChunk[] {
  const { call_id: id, decision, reason } = data;
  // A decision may come too late, or be about a budget.
  if (told.tools.get(id) !== 'asked') return answerChunks(told, id, data);
  const approved = decision === 'approve';
  told.tools.set(id, approved ? 'called' : 'denied');
  const because = reason === undefined ? {} : { reason };
  return [{ type: 'tool-approval-response', approvalId: id, approved, ...because }];
}

function questionChunks({ questions }: Told, question: Data): readonly MessageChunk[] {
  questions.set(question.id, question);
  return [question];
}

/** The question with its answer replaces the question. */
function answerChunks({ questions }: Told, id: string, answer: object): readonly MessageChunk[] {
  const question = questions.get(id);
  return question === undefined ? [] : [{ ...question, data: { ...question.data, ...answer } }];
}

const REASONS = new Map<string | undefined, 'stop' | 'length'>([
  ['final_answer', 'stop'],
  ['completed_by_tool', 'stop'],
  ['length', 'length'],
]);

function endChunks(told: Told): readonly MessageChunk[] {
  const { end, calls } = told;
  if (end?.type === 'ai.request.failed') {
    const { message } = { message: end.data.termination_reason ?? 'failed', ...(end.data.error as object) };
    const isCancelled = end.data.termination_reason === 'cancelled';
    return [
      ...closedPart(told),
      isCancelled ? { type: 'abort', reason: message } : { type: 'error', errorText: message },
    ];
  }
  const { result, termination_reason: why } = end?.data ?? {};
  const isShown =
    typeof result !== 'string' || [...calls].some(([id, folded]) => folded.get(id)?.content === result);
  const text = isShown ? [] : textChunks(told, { kind: 'content', call_id: 'result', text: result });
  const finishReason = REASONS.get(why) ?? 'other';
  return [...text, ...closedPart(told), { type: 'finish', finishReason }];
}
