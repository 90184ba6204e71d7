// Recognises the events of a provider's stream that hold nothing but the next piece of a text or thinking under way.
// Must never read one otherwise than the provider's client would: in doubt it is the client's.

/** What the model writes at the moment, by the client's parts. */
export interface OpenBlock {
  readonly type: 'text' | 'reasoning';
  readonly id: string;
}

/** The piece; null: the client has to read the event. */
export type ReadDirectText = (event: string, open: OpenBlock) => string | null;

/** Of an event before any text: the first piece and the block that it opens; 'silent': it has no text; null: the client has to read it. */
type ReadOpening = (event: string) => { readonly block: OpenBlock; readonly text: string } | 'silent' | null;

/** How the events of a protocol are read. */
export interface DirectProtocol {
  readonly text: ReadDirectText;
  /** Absent: the client opens each block. */
  readonly opening?: ReadOpening;
}

type Json = Readonly<Record<string, unknown>>;

/** An event with one line of data. */
const EVENT = /^(?:event: ?[\w.]+\r?\n)?data: ?(\{.*\})\r?\n\r?\n$/;

/** Keys that the client refuses, also when they are written with \u escapes. A value that looks like one is the client's, too. */
const SUSPECT_KEY = /"(?:__proto__|constructor)"|\\u[^"\\]*"\s*:/;

/** Of chat completions with one choice. */
const compatibleText: ReadDirectText = reading(compatibleData);

/** Of Anthropic's messages. */
const anthropicText: ReadDirectText = reading(anthropicData);

/** A client of chat completions opens a block with its first piece, under one of these names. */
const FIRST_BLOCKS: readonly OpenBlock[] = [
  { type: 'text', id: 'txt-0' },
  { type: 'reasoning', id: 'reasoning-0' },
];

const COMMENT = /^(?::[^\r\n]*\r?\n)+\r?\n$/;

/** Of chat completions with one choice. */
const compatibleOpening: ReadOpening = (event) => {
  if (COMMENT.test(event)) return 'silent';
  const data = dataOf(event);
  if (data === null) return null;
  // Azure begins with what its filters say of the prompt, and no choice.
  if (plainChoices(data)?.length === 0) return 'silent';
  const delta = plainDelta(data);
  if (delta === null) return null;
  for (const block of FIRST_BLOCKS) {
    const text = deltaText(delta, block);
    if (typeof text === 'string' && text !== '') return { block, text };
  }
  return isSilent(delta) ? 'silent' : null;
};

export const CHAT_COMPLETIONS: DirectProtocol = { text: compatibleText, opening: compatibleOpening };
/** Its client opens a block by an event of its own. */
export const ANTHROPIC_MESSAGES: DirectProtocol = { text: anthropicText };

function reading(textOf: (data: Json, open: OpenBlock) => unknown): ReadDirectText {
  return (event, open) => {
    const data = dataOf(event);
    const text = data && textOf(data, open);
    return typeof text === 'string' && text !== '' ? text : null;
  };
}

function dataOf(event: string): Json | null {
  const json = EVENT.exec(event)?.[1];
  return json === undefined ? null : parsed(json);
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
/** Of JSON, where 1e999 is a number without end. */
const isOptional = (value: unknown, type: 'string' | 'number'): boolean =>
  isNone(value) || (typeof value === type && value !== Infinity && value !== -Infinity);

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function compatibleData(data: Json, open: OpenBlock): unknown {
  const delta = plainDelta(data);
  return delta && deltaText(delta, open);
}

/** null: it has something that the client keeps for the end, or that is not readable. */
function plainChoices(data: Json): readonly unknown[] | null {
  const { id, created, model, usage, choices } = data;
  if ('error' in data || !isNone(usage) || !Array.isArray(choices)) return null;
  if (!isOptional(id, 'string') || !isOptional(created, 'number') || !isOptional(model, 'string'))
    return null;
  return choices;
}

/** Of one choice that goes on. */
function plainDelta(data: Json): Json | null {
  const choices = plainChoices(data);
  if (choices?.length !== 1) return null;
  const choice: unknown = choices[0];
  if (!isObject(choice) || !isNone(choice['finish_reason']) || !isObject(choice['delta'])) return null;
  const { role, refusal, tool_calls } = choice['delta'];
  if (!isNone(refusal) || !isNone(tool_calls) || !(isNone(role) || role === 'assistant' || role === ''))
    return null;
  return choice['delta'];
}

function isSilent({ content, reasoning_content: thinking, reasoning }: Json): boolean {
  return [content, thinking, reasoning].every((text) => isNone(text) || text === '');
}

function deltaText(delta: Json, { type }: OpenBlock): unknown {
  const { content, reasoning_content: thinking, reasoning } = delta;
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
