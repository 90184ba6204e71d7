// Recognises the events of a provider's stream that hold nothing but the next piece of a text or thinking under way.
// Must never read one otherwise than the provider's client would: in doubt it is the client's.

/** What the model writes at the moment, by the client's parts. */
export interface OpenBlock {
  readonly type: 'text' | 'reasoning';
  readonly id: string;
}

/** The piece; null: the client has to read the event. */
export type ReadDirectText = (event: string, open: OpenBlock) => string | null;

type Json = Readonly<Record<string, unknown>>;

/** An event with one line of data. */
const EVENT = /^(?:event: ?[\w.]+\r?\n)?data: ?(\{.*\})\r?\n\r?\n$/;

/** Keys that the client refuses, also when they are written with \u escapes. A value that looks like one is the client's, too. */
const SUSPECT_KEY = /"(?:__proto__|constructor)"|\\u[^"\\]*"\s*:/;

/** Of chat completions with one choice. */
export const compatibleText: ReadDirectText = reading(compatibleData);

/** Of Anthropic's messages. */
export const anthropicText: ReadDirectText = reading(anthropicData);

function reading(textOf: (data: Json, open: OpenBlock) => unknown): ReadDirectText {
  return (event, open) => {
    const json = EVENT.exec(event)?.[1];
    const data = json === undefined ? null : parsed(json);
    const text = data && textOf(data, open);
    return typeof text === 'string' && text !== '' ? text : null;
  };
}

function parsed(json: string): Json | null {
  if (SUSPECT_KEY.test(json)) return null;
  try {
    return JSON.parse(json) as Json;
  } catch {
    return null;
  }
}

const isNone = (value: unknown): boolean => value === null || value === undefined;
const isOptional = (value: unknown, type: 'string' | 'number'): boolean =>
  isNone(value) || typeof value === type;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One choice that goes on, and nothing that the client keeps for the end. */
function compatibleData(data: Json, open: OpenBlock): unknown {
  const { id, created, model, usage, choices } = data;
  if ('error' in data || !isNone(usage) || !Array.isArray(choices) || choices.length !== 1) return null;
  if (!isOptional(id, 'string') || !isOptional(created, 'number') || !isOptional(model, 'string'))
    return null;
  const choice: unknown = choices[0];
  if (!isObject(choice) || !isNone(choice['finish_reason']) || !isObject(choice['delta'])) return null;
  return deltaText(choice['delta'], open);
}

function deltaText(delta: Json, { type }: OpenBlock): unknown {
  const { role, content, reasoning_content: thinking, reasoning, refusal, tool_calls } = delta;
  if (!isNone(refusal) || !isNone(tool_calls) || !(isNone(role) || role === 'assistant' || role === ''))
    return null;
  if (type === 'text') return isNone(thinking) && isNone(reasoning) ? content : null;
  if (!isNone(content) && content !== '') return null;
  return isOptional(reasoning, 'string') ? (thinking ?? reasoning) : null;
}

function anthropicData({ type, index, delta }: Json, open: OpenBlock): unknown {
  if (type !== 'content_block_delta' || typeof index !== 'number' || String(index) !== open.id) return null;
  if (!isObject(delta)) return null;
  if (open.type === 'text') return delta['type'] === 'text_delta' ? delta['text'] : null;
  return delta['type'] === 'thinking_delta' ? delta['thinking'] : null;
}
