// Answers models and tools from a recorded case, and notes where what they are asked leaves the record.
// Never gives an answer that was recorded for other arguments.
import type { CaseCall, RecordedCase } from '../../contract/case/case.ts';
import { type Difference, firstDifference } from '../../contract/case/compare.ts';
import { canonicalJson } from '../../contract/json/canonical-json.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult, type Result } from '../../contract/result.ts';

/** A message as every provider's API can express it. */
export interface AskedMessage {
  readonly role: string;
  readonly content: unknown;
  readonly calls: readonly { readonly tool: string; readonly arguments: unknown }[];
}

/** Content of a model call. */
export interface AskedModel {
  readonly messages: readonly AskedMessage[];
  readonly tools: readonly string[];
}

/** `strict`: nothing is answered after the first difference. `loose`: differences are noted. */
export type ReplayMode = 'strict' | 'loose';

/** Answers of one replay of a case. */
export interface Replay {
  /** Answer of the next model call. */
  model(asked: AskedModel): Result;
  /** Answer of the recorded call with these arguments. */
  call(tool: string, args: Readonly<Record<string, unknown>>): Result;
  /** Where the replay left the record first; `a` is the recorded value. null: nowhere so far. */
  left(): Difference | null;
  /** The first recorded call that nothing has asked for; null: all were. */
  unasked(): Difference | null;
}

/** Starts a replay of a case. */
export function createReplay({ turns }: RecordedCase, mode: ReplayMode): Replay {
  const models = turns.flatMap(({ model }) => (model === null ? [] : [model]));
  const waiting: CaseCall[] = turns.flatMap(({ calls }) => [...calls]);
  const answered: CaseCall[] = [];
  let asked = 0;
  let first: Difference | null = null;
  const leave = (difference: Difference): Result => {
    first ??= difference;
    return errorResult(errorEnvelope('not_recorded', sentenceOf(difference)));
  };
  return {
    model(given) {
      if (mode === 'strict' && first !== null) return leave(first);
      const model = models[asked];
      asked += 1;
      const place = `model call ${asked}`;
      if (model === undefined) return leave({ place, b: 'a call that is not recorded' });
      const difference = firstDifference(recordedAsked(model), comparable(given), `${place}, `);
      if (difference !== null) {
        const left = leave(difference);
        if (mode === 'strict') return left;
      }
      return model.answer;
    },
    call(tool, args) {
      if (mode === 'strict' && first !== null) return leave(first);
      const key = canonicalJson(args);
      const fits = (call: CaseCall): boolean => call.tool === tool && canonicalJson(call.arguments) === key;
      const at = waiting.findIndex(fits);
      const [found] = at === -1 ? [] : waiting.splice(at, 1);
      if (found !== undefined) {
        answered.push(found);
        return found.answer;
      }
      const left = leave(callDifference(tool, args, waiting));
      // A repeated call has the answer of its first one.
      return mode === 'loose' ? (answered.findLast(fits)?.answer ?? left) : left;
    },
    left: () => first,
    unasked: () => {
      const [call] = waiting;
      if (asked < models.length)
        return { place: `model call ${asked + 1}`, a: 'a recorded call that was not made' };
      return call === undefined ? null : { place: `call ${call.tool}`, a: call.arguments };
    },
  };
}

/** Sentence about a difference: place and both values. */
export function sentenceOf({ place, ...values }: Difference): string {
  const shown = (value: unknown): string => {
    const text = JSON.stringify(value) ?? 'nothing';
    return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}…`;
  };
  return `${place}: recorded ${shown(values.a)}, now ${shown(values.b)}`;
}

const MOST_SHOWN = 400;

function callDifference(tool: string, args: unknown, waiting: readonly CaseCall[]): Difference {
  const recorded = waiting.find((call) => call.tool === tool);
  const place = `call ${tool}, arguments`;
  if (recorded === undefined) return { place, b: args };
  return firstDifference(recorded.arguments, args, place) ?? { place, b: args };
}

function recordedAsked(model: NonNullable<RecordedCase['turns'][number]['model']>) {
  const system = model.system_prompt === null ? [] : [{ role: 'system', content: model.system_prompt }];
  const messages = [...system, ...model.messages].map((message) => ({
    role: message.role,
    content: message.content ?? '',
    calls: ('tool_calls' in message ? (message.tool_calls ?? []) : []).map(({ name, arguments: args }) => ({
      tool: name,
      arguments: args,
    })),
  }));
  return comparable({ messages, tools: model.tools });
}

/** The same for a recorded call and for one on the wire of a provider: texts and calls, without ids. */
function comparable({ messages, tools }: AskedModel) {
  const plain = messages.map(({ role, content, calls }) => ({
    role,
    content: role === 'tool' ? toolText(textOf(content)) : textOf(content),
    ...(calls.length === 0 ? {} : { calls }),
  }));
  return { messages: joined(plain), tools: tools.toSorted() };
}

interface PlainMessage {
  readonly role: string;
  readonly content: unknown;
}

/** Neighbours of one role count as one message: some wires join them. */
function joined(messages: readonly PlainMessage[]): PlainMessage[] {
  const all: PlainMessage[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    const isSame = last?.role === message.role && (message.role === 'system' || message.role === 'user');
    if (isSame)
      all.splice(-1, 1, { ...message, content: `${String(last.content)}\n\n${String(message.content)}` });
    else all.push(message);
  }
  return all;
}

/** Texts of a content; other parts as their kind. Thinking belongs to a provider and is left out. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.flatMap(partText).join('\n');
}

function partText(part: unknown): string[] {
  if (!isObject(part)) return [];
  const { type, text } = part;
  if (type === 'text') return [String(text)];
  if (type === 'thinking' || type === 'tool_call') return [];
  return [type === 'image' || type === 'image_url' ? '[image]' : '[file]'];
}

/** The result in the text of a tool: of an error its type and message, as a replayed error is never retried. */
function toolText(text: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return text;
  }
  if (!isObject(parsed)) return text;
  const { ok, result, error } = parsed;
  if (ok === true) return { result: typeof result === 'string' ? result : JSON.stringify(result) };
  return isObject(error) ? { error: { type: error['type'], message: error['message'] } } : text;
}
