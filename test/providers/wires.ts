/** How each of the five wires writes the same answer or refusal, streamed and whole.
 *  It must never use the service's own code for providers. */
import type { Api } from '../support/model-calls.ts';
import { sse, STREAM_HEAD } from '../support/provider-server.ts';
import type { Write } from './row.ts';

export const WIRES: readonly Api[] = ['openai-chat', 'openai', 'anthropic', 'google', 'compatible'];
export const CHAT: readonly Api[] = ['openai-chat', 'compatible'];
/** The wires on which a model writes the arguments of a call as text. */
export const TEXT_ARGUMENTS: readonly Api[] = ['openai-chat', 'openai', 'anthropic', 'compatible'];

export type Mode = 'streamed' | 'whole';

export type Part =
  | { text: string }
  | { thinking: string }
  /** `arguments`: the text that the model has written. */
  | { call: string; name: string; arguments: string };

export type Finish = 'stop' | 'calls' | 'length' | 'refusal' | 'error';

export interface Said {
  parts: readonly Part[];
  /** null: the provider names none. Default: `calls` where there is a call, else `stop`. */
  finish?: Finish | null;
}

export interface Refusal {
  status: number;
  message: string;
  /** `type` and `code` of the OpenAI wires, `type` of Anthropic, `status` of Google. */
  code?: string;
  headers?: Record<string, string>;
}

interface Wire {
  events(said: Said): { events: readonly unknown[]; named?: boolean };
  body(said: Said): unknown;
  error(refusal: Refusal): unknown;
  /** The event that reports an error inside a stream. */
  errorEvent(refusal: Refusal): unknown;
}

/** The whole answer of a provider. */
export function written(wire: Api, mode: Mode, said: Said): Write {
  return mode === 'whole' ? json(200, FORMS[wire].body(said)) : events(eventsOf(wire, said));
}

/** The text of the stream, event by event. */
export function eventsOf(wire: Api, said: Said): string[] {
  const { events: all, named = false } = FORMS[wire].events(said);
  return all.map((event) => sse([event], { named }));
}

export function events(texts: readonly string[]): Write {
  return (response) => {
    response.writeHead(200, STREAM_HEAD);
    response.end(texts.join(''));
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Write {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

export function bodyOfAnswer(wire: Api, said: Said): unknown {
  return FORMS[wire].body(said);
}

export function refused(wire: Api, refusal: Refusal): Write {
  return json(refusal.status, FORMS[wire].error(refusal), refusal.headers ?? {});
}

/** The refusal as the first event of a stream with status 200. */
export function refusedInStream(wire: Api, refusal: Refusal): Write {
  return events([
    sse([FORMS[wire].errorEvent(refusal)], { named: wire === 'anthropic' || wire === 'openai' }),
  ]);
}

const finishOf = ({ parts, finish }: Said): Finish | null =>
  finish === undefined ? (parts.some((part) => 'call' in part) ? 'calls' : 'stop') : finish;

const textOf = ({ parts }: Said): string => parts.map((part) => ('text' in part ? part.text : '')).join('');
const thinkingOf = ({ parts }: Said): string =>
  parts.map((part) => ('thinking' in part ? part.thinking : '')).join('');
const callsIn = ({ parts }: Said) => parts.flatMap((part) => ('call' in part ? [part] : []));

/** A stream brings arguments in two fragments. */
function halves(text: string): [string, string] {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

/** The JSON that a model wrote, or the text itself where it is none. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const CHAT_HEAD = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };
const CHAT_FINISH = { stop: 'stop', calls: 'tool_calls', length: 'length', refusal: 'stop', error: 'error' };
const CHAT_USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };

export function chatChunk(delta: object, finish_reason: string | null = null): object {
  return { ...CHAT_HEAD, choices: [{ index: 0, delta, finish_reason }] };
}

function chatEvents(said: Said) {
  const finish = finishOf(said);
  let index = -1;
  const chunks = said.parts.flatMap((part): object[] => {
    if ('text' in part)
      return [chatChunk(finish === 'refusal' ? { refusal: part.text } : { content: part.text })];
    if ('thinking' in part) return [chatChunk({ reasoning_content: part.thinking })];
    index += 1;
    const [first, rest] = halves(part.arguments);
    const begun = { index, id: part.call, type: 'function', function: { name: part.name, arguments: first } };
    return [
      chatChunk({ tool_calls: [begun] }),
      chatChunk({ tool_calls: [{ index, function: { arguments: rest } }] }),
    ];
  });
  const end = finish === null ? [] : [{ ...chatChunk({}, CHAT_FINISH[finish]), usage: CHAT_USAGE }];
  return { events: [chatChunk({ role: 'assistant', content: '' }), ...chunks, ...end, '[DONE]'] };
}

function chatBody(said: Said): unknown {
  const finish = finishOf(said);
  const calls = callsIn(said).map((part) => ({
    id: part.call,
    type: 'function',
    function: { name: part.name, arguments: part.arguments },
  }));
  const message = {
    role: 'assistant',
    ...(finish === 'refusal' ? { content: null, refusal: textOf(said) } : { content: textOf(said) }),
    ...(thinkingOf(said) === '' ? {} : { reasoning_content: thinkingOf(said) }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const choice = { index: 0, message, finish_reason: finish === null ? null : CHAT_FINISH[finish] };
  return { ...CHAT_HEAD, object: 'chat.completion', choices: [choice], usage: CHAT_USAGE };
}

const openaiError = ({ message, code = 'x' }: Refusal) => ({
  error: { message, type: code, param: null, code },
});
const chat: Wire = { events: chatEvents, body: chatBody, error: openaiError, errorEvent: openaiError };

const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', error: null };
const RESPONSE_USAGE = {
  input_tokens: 5,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 8,
};

function responseItem(part: Part, at: number, finish: Finish | null): Record<string, unknown> {
  if ('call' in part) {
    const { call: call_id, name, arguments: text } = part;
    return { id: `fc_${at}`, type: 'function_call', status: 'completed', call_id, name, arguments: text };
  }
  if ('thinking' in part)
    return { id: `rs_${at}`, type: 'reasoning', summary: [{ type: 'summary_text', text: part.thinking }] };
  const content =
    finish === 'refusal'
      ? { type: 'refusal', refusal: part.text }
      : { type: 'output_text', text: part.text, annotations: [] };
  return { id: `msg_${at}`, type: 'message', status: 'completed', role: 'assistant', content: [content] };
}

function responseBody(said: Said): Record<string, unknown> {
  const finish = finishOf(said);
  const output = said.parts.map((part, at) => responseItem(part, at, finish));
  const cut = finish === 'length';
  const incomplete_details = cut ? { reason: 'max_output_tokens' } : null;
  return {
    ...RESPONSE,
    status: cut ? 'incomplete' : 'completed',
    incomplete_details,
    output,
    usage: RESPONSE_USAGE,
  };
}

function responseItemEvents(part: Part, at: number, finish: Finish | null): object[] {
  const item = responseItem(part, at, finish);
  const place = { item_id: item['id'], output_index: at };
  const added = (open: object) => ({
    type: 'response.output_item.added',
    output_index: at,
    item: { ...item, ...open },
  });
  const done = { type: 'response.output_item.done', output_index: at, item };
  if ('call' in part) {
    const deltas = halves(part.arguments).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...place,
      delta,
    }));
    return [added({ status: 'in_progress', arguments: '' }), ...deltas, done];
  }
  if ('thinking' in part) {
    const summary = { ...place, summary_index: 0 };
    return [
      added({ summary: [] }),
      { type: 'response.reasoning_summary_part.added', ...summary, part: { type: 'summary_text', text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...summary, delta: part.thinking },
      done,
    ];
  }
  const kind = finish === 'refusal' ? 'response.refusal.delta' : 'response.output_text.delta';
  return [
    added({ content: [] }),
    { type: kind, ...place, content_index: 0, delta: part.text, logprobs: [] },
    done,
  ];
}

function responseEvents(said: Said) {
  const finish = finishOf(said);
  const body = responseBody(said);
  const created = {
    type: 'response.created',
    response: { ...RESPONSE, status: 'in_progress', output: [], usage: null },
  };
  const items = said.parts.flatMap((part, at) => responseItemEvents(part, at, finish));
  const end = { type: finish === 'length' ? 'response.incomplete' : 'response.completed', response: body };
  const events = [created, ...items, end].map((event, sequence_number) => ({ ...event, sequence_number }));
  return { events, named: true };
}

const responses: Wire = {
  events: responseEvents,
  body: responseBody,
  error: openaiError,
  errorEvent: ({ message, code = 'x' }) => ({
    type: 'error',
    sequence_number: 0,
    code,
    message,
    param: null,
  }),
};

const STOP_REASON = {
  stop: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  refusal: 'refusal',
  error: 'end_turn',
};
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };

function block(part: Part): Record<string, unknown> {
  if ('text' in part) return { type: 'text', text: part.text };
  if ('thinking' in part)
    return { type: 'thinking', thinking: part.thinking, signature: `signed-${part.thinking}` };
  return { type: 'tool_use', id: part.call, name: part.name, input: valueOf(part.arguments) };
}

function blockEvents(part: Part, index: number): object[] {
  const start = (content_block: object) => ({ type: 'content_block_start', index, content_block });
  const delta = (change: object) => ({ type: 'content_block_delta', index, delta: change });
  const stop = { type: 'content_block_stop', index };
  if ('text' in part)
    return [start({ type: 'text', text: '' }), delta({ type: 'text_delta', text: part.text }), stop];
  if ('thinking' in part) {
    const signature = delta({ type: 'signature_delta', signature: `signed-${part.thinking}` });
    const thought = delta({ type: 'thinking_delta', thinking: part.thinking });
    return [start({ type: 'thinking', thinking: '', signature: '' }), thought, signature, stop];
  }
  const pieces = halves(part.arguments).map((partial_json) =>
    delta({ type: 'input_json_delta', partial_json }),
  );
  return [start({ type: 'tool_use', id: part.call, name: part.name, input: {} }), ...pieces, stop];
}

function anthropicEvents(said: Said) {
  const finish = finishOf(said);
  const usage = { input_tokens: 5, output_tokens: 1 };
  const stop_reason = finish === null ? null : STOP_REASON[finish];
  const events = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null, usage } },
    ...said.parts.flatMap(blockEvents),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ];
  return { events, named: true };
}

function anthropicError({ message, code = 'invalid_request_error' }: Refusal) {
  return { type: 'error', error: { type: code, message } };
}

const anthropic: Wire = {
  events: anthropicEvents,
  body: (said) => {
    const finish = finishOf(said);
    const stop_reason = finish === null ? null : STOP_REASON[finish];
    const usage = { input_tokens: 5, output_tokens: 3 };
    return { ...MESSAGE, content: said.parts.map(block), stop_reason, usage };
  },
  error: anthropicError,
  errorEvent: anthropicError,
};

const GOOGLE_FINISH = {
  stop: 'STOP',
  calls: 'STOP',
  length: 'MAX_TOKENS',
  refusal: 'SAFETY',
  error: 'OTHER',
};
const GOOGLE_USAGE = { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 };

function googlePart(part: Part): object {
  if ('text' in part) return { text: part.text };
  if ('thinking' in part) return { text: part.thinking, thought: true };
  return { functionCall: { id: part.call, name: part.name, args: valueOf(part.arguments) } };
}

function googleBody(parts: readonly object[], finish: Finish | null, usage: boolean): object {
  const candidate = { index: 0, content: { role: 'model', parts } };
  const ended = finish === null ? candidate : { ...candidate, finishReason: GOOGLE_FINISH[finish] };
  return { candidates: [ended], ...(usage ? { usageMetadata: GOOGLE_USAGE } : {}), modelVersion: 'm' };
}

function googleError({ status, message, code = 'INVALID_ARGUMENT' }: Refusal) {
  return { error: { code: status, message, status: code } };
}

const google: Wire = {
  events: (said) => {
    const finish = finishOf(said);
    const last = said.parts.length - 1;
    const parts = said.parts.map((part, at) =>
      googleBody([googlePart(part)], at === last ? finish : null, at === last),
    );
    return { events: parts.length === 0 ? [googleBody([], finish, true)] : parts };
  },
  body: (said) => googleBody(said.parts.map(googlePart), finishOf(said), true),
  error: googleError,
  errorEvent: googleError,
};

const FORMS: Record<Api, Wire> = {
  'openai-chat': chat,
  openai: responses,
  anthropic,
  google,
  compatible: chat,
};
