/** Reads a provider's answer beside its way to the caller: text, tool calls, tokens, and whether it is complete.
 *  It must never fail on what it does not know, nor change a byte. */
import { isObject } from '../../contract/json/json-object.ts';
import { plainText } from '../../contract/json/plain-text.ts';
import { type FinishReason, normalizeFinishReason } from '../../contract/model/finish-reason.ts';
import type { ToolCall } from '../../contract/model/message.ts';
import type { ModelWire } from '../../contract/model/model-wire.ts';
import { normalizeUsage, type Usage } from '../../contract/model/usage.ts';
import type { AnswerPiece } from '../../models/answers/answer-collector.ts';
import { MAX_TOOL_CALLS, MAX_WRITTEN_CHARACTERS } from '../../models/answers/answer-limits.ts';
import { reportedError } from '../../models/answers/provider-status.ts';
import { readArguments } from '../../models/answers/written-arguments.ts';

type Members = Record<string, unknown>;

/** A tool call as the model writes it. */
interface WrittenCall {
  id: string;
  name: string;
  input: string;
}

export interface AnswerReader {
  /** Reads one event of a stream, or a whole answer. Returns the chunks that it adds. */
  take(event: unknown): AnswerPiece[];
  /** Reads the end marker of a stream. */
  end(): void;
  /** Whether the answer is complete: the model has finished, or the stream has its end marker. */
  isComplete(): boolean;
  /** Whether nothing of the answer follows. */
  isEnded(): boolean;
  /** The error that the provider reports in place of an answer, or of the rest of one; null: none. */
  error(): unknown;
  readonly answer: ReadAnswer;
  toolCalls(): ToolCall[];
}

export interface ReadAnswer {
  text: string;
  thinking: string;
  usage: Usage | null;
  /** The model's name as the provider reports it. */
  model: string | null;
  finish: FinishReason | null;
}

/** The state of a reading, which the reader of a wire fills in. */
interface Reading extends ReadAnswer {
  /** Tool calls by their place in the answer, as the provider counts. */
  readonly calls: Map<number, WrittenCall>;
  isEnded: boolean;
  /** Whether something of an answer was read. */
  isAnswer: boolean;
}

type Read = (event: Members, reading: Reading) => AnswerPiece[];

export function createAnswerReader(wire: ModelWire): AnswerReader {
  const read = READERS[wire];
  let error: unknown = null;
  let characters = 0;
  const reading: Reading = {
    text: '',
    thinking: '',
    usage: null,
    model: null,
    finish: null,
    calls: new Map(),
    isEnded: false,
    isAnswer: false,
  };

  function keep(piece: AnswerPiece): AnswerPiece[] {
    const text = piece.kind === 'tool_call' ? piece.input : plainText(piece.text);
    characters += text.length;
    if (characters > MAX_WRITTEN_CHARACTERS) return [];
    if (piece.kind === 'tool_call') return [piece];
    if (text === '') return [];
    reading[piece.kind === 'content' ? 'text' : 'thinking'] += text;
    return [{ ...piece, text }];
  }

  return {
    take(event) {
      const pieces: AnswerPiece[] = [];
      for (const each of Array.isArray(event) ? (event as unknown[]) : [event]) {
        if (!isObject(each)) continue;
        const before = reading.isAnswer;
        const read_ = read(each, reading);
        if (isError(each, before || reading.isAnswer)) error ??= each;
        pieces.push(...read_.flatMap(keep));
      }
      return pieces;
    },
    end: () => void (reading.isEnded = true),
    isComplete: () => reading.isEnded || reading.finish !== null,
    isEnded: () => reading.isEnded,
    error: () => error,
    answer: reading,
    toolCalls: () => toolCallsOf(reading),
  };
}

/** An event may tell of an error with a member that answers have, too, as null. */
function isError(event: Members, isAnswer: boolean): boolean {
  if (event['type'] === 'error' || event['type'] === 'response.failed') return true;
  if (isObject(event['error'])) return true;
  return !isAnswer && reportedError(event) !== null;
}

function toolCallsOf({ calls, finish }: Reading): ToolCall[] {
  const written = [...calls].toSorted(([left], [right]) => left - right).map(([, call]) => call);
  const kept = written.slice(0, MAX_TOOL_CALLS);
  const read = readArguments(
    kept.map(({ input }) => input),
    finish,
  );
  return kept.map(({ id, name }, index) => ({
    id: id || `call_${index}`,
    name: plainText(name) || 'unknown',
    arguments: {},
    ...read[index],
  }));
}

/** Longest id and name of a call. */
const MOST_NAME_CHARACTERS = 256;

/** A fragment of a call. `place`: as the provider counts; `id`, `name`: '' where the fragment has none. */
function callPiece(reading: Reading, place: number, given: WrittenCall): AnswerPiece[] {
  const call = reading.calls.get(place) ?? { id: '', name: '', input: '' };
  const index = reading.calls.has(place) ? [...reading.calls.keys()].indexOf(place) : reading.calls.size;
  if (index >= MAX_TOOL_CALLS) return [];
  // Each fragment repeats them.
  call.id ||= given.id.slice(0, MOST_NAME_CHARACTERS);
  call.name ||= given.name.slice(0, MOST_NAME_CHARACTERS);
  if (call.input.length + given.input.length <= MAX_WRITTEN_CHARACTERS) call.input += given.input;
  reading.calls.set(place, call);
  return [{ kind: 'tool_call', index, id: call.id, wireName: call.name, input: given.input }];
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
const listIn = (value: unknown): Members[] => (Array.isArray(value) ? value.filter(isObject) : []);
const membersIn = (value: unknown): Members => (isObject(value) ? value : {});
const content = (text: unknown): AnswerPiece => ({ kind: 'content', text: textIn(text) });
const thinking = (text: unknown): AnswerPiece => ({ kind: 'thinking', text: textIn(text) });

/** Input that is JSON already becomes the text that the other wires have. */
function inputText(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : JSON.stringify(value);
}

const readChat: Read = (event, reading) => {
  const { model, usage, choices } = event;
  if (typeof model === 'string') reading.model = model;
  if (isObject(usage)) reading.usage = openaiUsage(usage) ?? reading.usage;
  if (!Array.isArray(choices)) return [];
  reading.isAnswer = true;
  const choice = listIn(choices).find(({ index }) => index === undefined || index === 0);
  if (choice === undefined) return [];
  if (typeof choice['finish_reason'] === 'string') reading.finish = finishOf(choice['finish_reason']);
  const said = membersIn(choice['delta'] ?? choice['message']);
  const calls = listIn(said['tool_calls']).flatMap((call, position) => {
    const { index, id } = call;
    const { name, arguments: input } = membersIn(call['function']);
    const place = Number.isInteger(index) ? Number(index) : position;
    return callPiece(reading, place, { id: textIn(id), name: textIn(name), input: inputText(input) });
  });
  return [thinking(said['reasoning_content'] ?? said['reasoning']), content(said['content']), ...calls];
};

const readResponses: Read = (event, reading) => {
  const { type, delta, output_index: index } = event;
  const place = Number.isInteger(index) ? Number(index) : 0;
  if (event['object'] === 'response')
    return [...responseItems(event, reading), ...responseEnd(event, reading)];
  if (typeof type === 'string' && type.startsWith('response.')) reading.isAnswer = true;
  switch (type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return [content(delta)];
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return [thinking(delta)];
    case 'response.output_item.added': {
      const item = membersIn(event['item']);
      if (item['type'] !== 'function_call') return [];
      return callPiece(reading, place, {
        id: textIn(item['call_id']),
        name: textIn(item['name']),
        input: textIn(item['arguments']),
      });
    }
    case 'response.function_call_arguments.delta':
      return callPiece(reading, place, { id: '', name: '', input: textIn(delta) });
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      reading.isEnded = true;
      return responseEnd(membersIn(event['response']), reading);
    default:
      return [];
  }
};

function responseEnd({ model, usage, status, incomplete_details }: Members, reading: Reading): AnswerPiece[] {
  if (typeof model === 'string') reading.model = model;
  if (isObject(usage)) reading.usage = openaiUsage(usage);
  const reason = status === 'incomplete' ? membersIn(incomplete_details)['reason'] : status;
  const finish = reason === 'failed' ? 'error' : finishOf(reason);
  reading.finish = finish === 'stop' && reading.calls.size > 0 ? 'tool_calls' : finish;
  return [];
}

/** The items of a whole answer. */
function responseItems({ output }: Members, reading: Reading): AnswerPiece[] {
  reading.isAnswer = true;
  return listIn(output).flatMap((item, place) => {
    const { type, call_id, name, arguments: input } = item;
    if (type === 'function_call')
      return callPiece(reading, place, { id: textIn(call_id), name: textIn(name), input: inputText(input) });
    const parts = listIn(item[type === 'reasoning' ? 'summary' : 'content']);
    return parts.map(({ text, refusal }) =>
      type === 'reasoning' ? thinking(text) : content(text ?? refusal),
    );
  });
}

function openaiUsage(usage: Members): Usage | null {
  const input = membersIn(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const output = membersIn(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
  return normalizeUsage({
    ...usage,
    ...counted('cache_read_input_tokens', input['cached_tokens']),
    ...counted('reasoning_tokens', output['reasoning_tokens']),
  });
}

/** Counts of zero carry no information. */
function counted(name: string, count: unknown): Members {
  return typeof count === 'number' && count > 0 ? { [name]: count } : {};
}

const readMessages: Read = (event, reading) => {
  const { type, delta: change, index } = event;
  const place = Number.isInteger(index) ? Number(index) : 0;
  switch (type) {
    case 'message':
      return wholeMessage(event, reading);
    case 'message_start': {
      reading.isAnswer = true;
      const { model, usage } = membersIn(event['message']);
      if (typeof model === 'string') reading.model = model;
      noteMessageUsage(usage, reading);
      return [];
    }
    case 'content_block_start':
      return blockPieces(membersIn(event['content_block']), place, reading);
    case 'content_block_delta': {
      const { text, thinking: thought, partial_json } = membersIn(change);
      if (partial_json !== undefined && reading.calls.has(place))
        return callPiece(reading, place, { id: '', name: '', input: textIn(partial_json) });
      return [thinking(thought), content(text)];
    }
    case 'message_delta': {
      const { stop_reason } = membersIn(change);
      if (typeof stop_reason === 'string') reading.finish = finishOf(stop_reason);
      noteMessageUsage(event['usage'], reading);
      return [];
    }
    case 'message_stop':
      reading.isEnded = true;
      return [];
    default:
      return [];
  }
};

function wholeMessage(answer: Members, reading: Reading): AnswerPiece[] {
  reading.isAnswer = true;
  if (typeof answer['model'] === 'string') reading.model = answer['model'];
  noteMessageUsage(answer['usage'], reading);
  const pieces = listIn(answer['content']).flatMap((block, place) => blockPieces(block, place, reading));
  reading.finish = finishOf(answer['stop_reason']);
  return pieces;
}

/** A stream begins a call with an empty input, and writes it afterwards. */
function blockPieces(
  { type, id, name, input, ...block }: Members,
  place: number,
  reading: Reading,
): AnswerPiece[] {
  if (type === 'tool_use') {
    const isEmpty = isObject(input) && Object.keys(input).length === 0;
    const written = isEmpty ? '' : inputText(input);
    return callPiece(reading, place, { id: textIn(id), name: textIn(name), input: written });
  }
  return [thinking(block['thinking']), content(type === 'text' ? block['text'] : '')];
}

/** The counts of a later event replace those of an earlier one; input from a cache is input. */
function noteMessageUsage(usage: unknown, reading: Reading): void {
  if (!isObject(usage)) return;
  const known = (name: string): number => {
    const count = usage[name];
    return typeof count === 'number' ? count : 0;
  };
  const before = reading.usage;
  const fresh = known('input_tokens');
  const read = known('cache_read_input_tokens');
  const written = known('cache_creation_input_tokens');
  const input = fresh + read + written;
  reading.usage = normalizeUsage({
    input_tokens: input > 0 ? input : (before?.input_tokens ?? 0),
    output_tokens: Math.max(known('output_tokens'), before?.output_tokens ?? 0),
    ...counted('cache_read_input_tokens', read || before?.cache_read_input_tokens),
    ...counted('cache_creation_input_tokens', written || before?.cache_creation_input_tokens),
  });
}

const readGoogle: Read = (event, reading) => {
  const { modelVersion, usageMetadata, candidates, promptFeedback } = event;
  if (typeof modelVersion === 'string') reading.model = modelVersion;
  if (isObject(usageMetadata)) reading.usage = googleUsage(usageMetadata) ?? reading.usage;
  if (isObject(promptFeedback) && promptFeedback['blockReason']) reading.finish = 'content_filter';
  if (candidates === undefined && promptFeedback === undefined) return [];
  reading.isAnswer = true;
  const candidate = listIn(candidates).find(({ index }) => index === undefined || index === 0) ?? {};
  const pieces = listIn(membersIn(candidate['content'])['parts']).flatMap((part) => {
    const { text, thought, functionCall } = part;
    if (!isObject(functionCall)) return [thought === true ? thinking(text) : content(text)];
    const { id, name, args } = functionCall;
    const call = { id: textIn(id), name: textIn(name), input: inputText(args ?? {}) };
    return callPiece(reading, reading.calls.size, call);
  });
  const { finishReason } = candidate;
  if (typeof finishReason === 'string' && finishReason !== 'CONTINUATION')
    reading.finish =
      finishReason === 'STOP' && reading.calls.size > 0 ? 'tool_calls' : finishOf(finishReason);
  return pieces;
};

function googleUsage(usage: Members): Usage | null {
  const count = (name: string): number => (typeof usage[name] === 'number' ? usage[name] : 0);
  const thoughts = count('thoughtsTokenCount');
  return normalizeUsage({
    input_tokens: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    output_tokens: count('candidatesTokenCount') + thoughts,
    ...counted('total_tokens', usage['totalTokenCount']),
    ...counted('cache_read_input_tokens', usage['cachedContentTokenCount']),
    ...counted('reasoning_tokens', thoughts),
  });
}

/** Vectors and counts of tokens: only their usage is read. */
const readCounts: Read = (event, reading) => {
  const { model, usage, data, embedding, embeddings } = event;
  if (typeof model === 'string') reading.model = model;
  if (isObject(usage)) reading.usage = openaiUsage(usage);
  reading.isAnswer = [data, embedding, embeddings, event['input_tokens']].some(
    (member) => member !== undefined,
  );
  if (reading.isAnswer) reading.finish = 'stop';
  return [];
};

const READERS: Readonly<Record<ModelWire, Read>> = {
  openai_chat: readChat,
  openai_responses: readResponses,
  openai_embeddings: readCounts,
  anthropic_messages: readMessages,
  anthropic_count_tokens: readCounts,
  google_generate: readGoogle,
  google_stream: readGoogle,
  google_embed: readCounts,
};

const OTHER_REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ['stop_sequence', 'stop'],
  ['function_call', 'tool_calls'],
  ['refusal', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['blocklist', 'content_filter'],
  ['prohibited_content', 'content_filter'],
  ['spii', 'content_filter'],
]);

function finishOf(reason: unknown): FinishReason | null {
  if (typeof reason !== 'string') return null;
  const plain = reason.toLowerCase();
  return OTHER_REASONS.get(plain) ?? normalizeFinishReason(plain);
}
