// Chat completions, of OpenAI and of the many servers that follow it more or less.
// Must never join two tool calls, nor give a call the arguments of another.
import { isObject } from '../../contract/json/json-object.ts';
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

  /** Returns what has to come before the choice. */
  function mendChoice(choice: Members, mending: Mending): Members[] {
    mendEnvelope(choice, mending);
    const { delta } = choice;
    isFinished ||= typeof choice['finish_reason'] === 'string';
    if (!isObject(delta)) {
      if (delta !== undefined && delta !== null) drop(mending, choice, 'delta');
      return isFinished ? rest() : [];
    }
    mendMessage(delta, mending);
    for (const call of callsIn(delta, mending)) calls.place(call, mending);
    hasContent ||= saysSomething(delta);
    const isReasoned = Boolean(delta['reasoning_content'] || delta['reasoning']);
    const held = isReasoned ? rest() : [];
    if (isReasoned || SPLIT.has(delta)) splitter = null;
    if (splitter === null || typeof delta['content'] !== 'string')
      return isFinished ? [...held, ...rest()] : held;
    const pushed = splitter.push(delta['content']);
    const last = isFinished ? splitter.rest() : NO_TEXT;
    spread(delta, joined(pushed, last), mending);
    return held;
  }

  function rest(): Members[] {
    const { thinking, text } = splitter?.rest() ?? NO_TEXT;
    return thinking + text === ''
      ? []
      : [chunkOf({ ...(thinking ? { reasoning_content: thinking } : {}), content: text })];
  }

  return {
    next(event, mending) {
      mendUsage(event, mending);
      mendHead(event, mending);
      const [choice] = objectsIn(mending, event, 'choices');
      return choice ? [...mendChoice(choice, mending), event] : [event];
    },
    rest,
    complete: () => [...rest(), ...(hasContent && !isFinished ? [chunkOf({}, 'unknown')] : [])],
    state: () => (isFinished ? 'finished' : 'open'),
  };
}

const NO_TEXT: SplitText = { thinking: '', text: '' };

function joined(first: SplitText, last: SplitText): SplitText {
  return { thinking: first.thinking + last.thinking, text: first.text + last.text };
}

/** Messages of whole answers, whose text has been split. */
const SPLIT = new WeakSet<object>();

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
    // Without them the tool would be called with {}; what is no object is refused later.
    const input = written['arguments'] ?? OTHER_NAMES.map((name) => written[name]).find(isObject);
    if (input !== undefined && typeof input !== 'string')
      put(mending, written, 'arguments', JSON.stringify(input));
    keepOnly(mending, written, 'string', 'arguments');
  }
  return calls;
}

/** Names that servers give the arguments of a call. */
const OTHER_NAMES = ['parameters', 'input', 'args'];

/** A call under way. `named`: the index that the server gives it; null: none. */
interface OpenCall {
  readonly index: number;
  readonly named: number | null;
  readonly id: string;
  readonly name: string;
  hasArguments: boolean;
}

/** Gives each call an index of its own, whose fragments all have it: some servers send none, or 0 for all of their calls. */
function createCallIndex() {
  const byId = new Map<string, OpenCall>();
  /** The newest call with each of the server's indexes. */
  const byNamed = new Map<number, OpenCall>();
  const taken = new Set<number>();
  let next = 0;
  let last: OpenCall | undefined;

  function withoutIndex(id: string, name: string): OpenCall | undefined {
    if (id !== '') return byId.get(id);
    return name === '' ? last : undefined;
  }

  function withIndex(named: number, id: string, name: string): OpenCall | undefined {
    const newest = byNamed.get(named);
    const known = byId.get(id);
    if (newest === undefined) return name === '' ? known : undefined;
    if (id === newest.id || id === '') return name === '' || name === newest.name ? newest : undefined;
    if (known?.named === named) return known;
    // A server may send each fragment under a new id, and the name with it.
    return name === '' || name === newest.name ? newest : undefined;
  }

  function begun(named: number | null, id: string, name: string): OpenCall {
    const index = named === null || taken.has(named) ? next : named;
    taken.add(index);
    next = Math.max(next, index + 1);
    return { index, named, id, name, hasArguments: false };
  }

  return {
    place(call: Members, mending: Mending): void {
      const { name, arguments: input } = call['function'] as Members;
      const [ownId, ownName] = [textOf(call['id']), textOf(name)];
      const { index } = call;
      const named =
        Number.isInteger(index) && Number(index) >= 0 && Number(index) < MAX_INDEX ? Number(index) : null;
      const found = named === null ? withoutIndex(ownId, ownName) : withIndex(named, ownId, ownName);
      last = found ?? begun(named, ownId, ownName);
      // The client would begin a second call, and leave the first one without arguments.
      if (ownId !== last.id && !last.hasArguments) {
        if (last.id === '') drop(mending, call, 'id');
        else put(mending, call, 'id', last.id);
      }
      last.hasArguments ||= textOf(input) !== '';
      if (ownId !== '') byId.set(ownId, last);
      if (named !== null) byNamed.set(named, last);
      if (index !== last.index) put(mending, call, 'index', last.index);
    },
  };
}

/** A larger index is no place in an answer. */
const MAX_INDEX = 1_000_000;

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
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
    SPLIT.add(message);
    const { content } = message;
    if (
      thinkTags === null ||
      typeof content !== 'string' ||
      message['reasoning_content'] ||
      message['reasoning']
    )
      continue;
    const splitter = createThinkSplitter(thinkTags);
    spread(message, joined(splitter.push(content), splitter.rest()), mending);
  }
}

function eventsOf({ choices, ...head }: Members): Members[] {
  const [choice = {}] = (choices as unknown[]).filter(isObject);
  const { message, ...envelope } = choice;
  return [{ ...head, choices: [{ ...envelope, delta: message }] }];
}
