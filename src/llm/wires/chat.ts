// Chat completions, of OpenAI and of the many servers that follow it more or less.
// Must never join two tool calls, nor give a call the arguments of another.
import { isObject } from '../../contract/json-object.ts';
import { createThinkSplitter, type SplitText, type ThinkTags } from './think-tags.ts';
import {
  type AnswerRepair,
  drop,
  keepOnly,
  type Members,
  mendCounts,
  type Mending,
  objectsIn,
  put,
  type Wire,
} from './wire.ts';

/** `thinkTags`: null leaves tags in the text. */
export function chatWire(thinkTags: ThinkTags | null): Wire {
  return {
    repair: () => chatRepair(thinkTags),
    isAnswer: ({ choices, usage }) => Array.isArray(choices) || isObject(usage),
    isWhole: ({ choices }) =>
      Array.isArray(choices) &&
      choices.some((choice: unknown) => isObject(choice) && isObject(choice['message']) && !choice['delta']),
    mendWhole: (answer, mending) => mendWhole(answer, mending, thinkTags),
    eventsOf,
    errorEvent: (error, status) => ({
      error: { ...error, code: typeof error['code'] === 'string' ? error['code'] : status },
    }),
  };
}

function chatRepair(thinkTags: ThinkTags | null): AnswerRepair {
  const calls = createCallIndex();
  let splitter = thinkTags === null ? null : createThinkSplitter(thinkTags);
  let hasContent = false;
  let isFinished = false;

  function mendChoice(choice: Members, mending: Mending): void {
    mendEnvelope(choice, mending);
    const { delta } = choice;
    if (isObject(delta)) {
      mendMessage(delta, mending);
      for (const call of callsIn(delta, mending)) calls.place(call, mending);
      hasContent ||= saysSomething(delta);
      if (delta['reasoning_content'] || delta['reasoning']) splitter = null;
      if (splitter && typeof delta['content'] === 'string')
        spread(delta, splitter.push(delta['content']), mending);
    } else if (delta !== undefined && delta !== null) drop(mending, choice, 'delta');
    isFinished ||= typeof choice['finish_reason'] === 'string';
  }

  function rest(): Members[] {
    const { thinking, text } = splitter?.rest() ?? { thinking: '', text: '' };
    return thinking + text === ''
      ? []
      : [chunkOf({ ...(thinking ? { reasoning_content: thinking } : {}), content: text })];
  }

  return {
    next(event, mending) {
      mendUsage(event, mending);
      mendHead(event, mending);
      const [choice] = objectsIn(mending, event, 'choices');
      if (choice) mendChoice(choice, mending);
      return choice && isFinished ? [...rest(), event] : [event];
    },
    rest,
    complete: () => [...rest(), ...(hasContent && !isFinished ? [chunkOf({}, 'unknown')] : [])],
    state: () => (isFinished ? 'finished' : 'open'),
  };
}

function chunkOf(delta: Members, finish_reason: string | null = null): Members {
  return { choices: [{ index: 0, delta, finish_reason }] };
}

function saysSomething({ content, reasoning_content, reasoning, refusal, tool_calls }: Members): boolean {
  return [content, reasoning_content, reasoning, refusal].some(Boolean) || Array.isArray(tool_calls);
}

function spread(message: Members, { thinking, text }: SplitText, mending: Mending): void {
  if (text !== message['content']) put(mending, message, 'content', text);
  if (thinking !== '') put(mending, message, 'reasoning_content', thinking);
}

/** Some servers (mlx-vlm) count under the names of the Responses API. */
function mendUsage(event: Members, mending: Mending): void {
  mendCounts(mending, event, 'usage');
  const { usage } = event;
  if (!isObject(usage)) return;
  const { input_tokens, output_tokens } = usage;
  if (typeof input_tokens === 'number') setAbsent(usage, 'prompt_tokens', input_tokens, mending);
  if (typeof output_tokens === 'number') setAbsent(usage, 'completion_tokens', output_tokens, mending);
}

function setAbsent(counts: Members, name: string, count: number, mending: Mending): void {
  if (typeof counts[name] !== 'number') put(mending, counts, name, count);
}

/** The members beside the choices. */
function mendHead(event: Members, mending: Mending): void {
  if (!Array.isArray(event['choices'])) put(mending, event, 'choices', []);
  if (!isObject(event['error'])) drop(mending, event, 'error');
  keepOnly(mending, event, 'string', 'id', 'model');
  keepOnly(mending, event, 'number', 'created');
}

/** The members of a choice beside its message. Log probabilities are never asked for. */
function mendEnvelope(choice: Members, mending: Mending): void {
  drop(mending, choice, 'logprobs');
  keepOnly(mending, choice, 'string', 'finish_reason');
  if (choice['finish_reason'] === '') drop(mending, choice, 'finish_reason');
  if (typeof choice['index'] !== 'number') put(mending, choice, 'index', 0);
}

function mendMessage(message: Members, mending: Mending): void {
  if (message['role'] !== 'assistant') drop(mending, message, 'role');
  drop(mending, message, 'annotations');
  if (Array.isArray(message['content'])) joinParts(message, message['content'], mending);
  keepOnly(mending, message, 'string', 'content', 'refusal', 'reasoning_content', 'reasoning');
}

/** A content in parts as two texts, which every client reads. */
function joinParts(message: Members, parts: unknown[], mending: Mending): void {
  const textIn = (list: unknown[]): string =>
    list.map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
  const thinking = parts.flatMap((part) =>
    isObject(part) && Array.isArray(part['thinking']) ? (part['thinking'] as unknown[]) : [],
  );
  put(mending, message, 'content', textIn(parts));
  if (thinking.length > 0) put(mending, message, 'reasoning_content', textIn(thinking));
}

function callsIn(message: Members, mending: Mending): Members[] {
  if (message['tool_calls'] === undefined) return [];
  const calls = objectsIn(mending, message, 'tool_calls');
  if (calls.length === 0) drop(mending, message, 'tool_calls');
  for (const call of calls) {
    keepOnly(mending, call, 'string', 'id');
    if (call['type'] !== 'function') drop(mending, call, 'type');
    if (!isObject(call['extra_content'])) drop(mending, call, 'extra_content');
    if (!isObject(call['function'])) put(mending, call, 'function', {});
    const written = call['function'] as Members;
    keepOnly(mending, written, 'string', 'name');
    const { arguments: input } = written;
    if (typeof input === 'object' && input !== null)
      put(mending, written, 'arguments', JSON.stringify(input));
    keepOnly(mending, written, 'string', 'arguments');
  }
  return calls;
}

/** Gives each fragment of a call without an index the index of its call. */
function createCallIndex() {
  const known = new Map<string, number>();
  let last = -1;

  function indexOf(id: unknown, name: unknown): number {
    if (typeof id === 'string' && id !== '') return known.get(id) ?? last + 1;
    return last < 0 || (typeof name === 'string' && name !== '') ? last + 1 : last;
  }

  return {
    place(call: Members, mending: Mending): void {
      const { id, index } = call;
      if (typeof index === 'number') last = index;
      else {
        last = indexOf(id, (call['function'] as Members)['name']);
        put(mending, call, 'index', last);
      }
      if (typeof id === 'string' && id !== '') known.set(id, last);
    },
  };
}

function mendWhole(answer: Members, mending: Mending, thinkTags: ThinkTags | null): void {
  mendHead(answer, mending);
  mendUsage(answer, mending);
  const choices = objectsIn(mending, answer, 'choices');
  if (choices.length === 0) put(mending, answer, 'choices', [{ index: 0, message: {} }]);
  for (const choice of choices) {
    mendEnvelope(choice, mending);
    if (!isObject(choice['message'])) put(mending, choice, 'message', {});
    const message = choice['message'] as Members;
    mendMessage(message, mending);
    for (const call of callsIn(message, mending)) {
      const written = call['function'] as Members;
      if (typeof written['arguments'] !== 'string') put(mending, written, 'arguments', '');
      if (call['type'] === undefined) put(mending, call, 'type', 'function');
    }
    const { content } = message;
    if (
      thinkTags === null ||
      typeof content !== 'string' ||
      message['reasoning_content'] ||
      message['reasoning']
    )
      continue;
    const splitter = createThinkSplitter(thinkTags);
    const begun = splitter.push(content);
    const rest = splitter.rest();
    spread(message, { thinking: begun.thinking + rest.thinking, text: begun.text + rest.text }, mending);
  }
}

function eventsOf({ choices, ...head }: Members): Members[] {
  const [choice = {}] = (choices as unknown[]).filter(isObject);
  const { message, ...envelope } = choice;
  return [{ ...head, choices: [{ ...envelope, delta: message }] }];
}
