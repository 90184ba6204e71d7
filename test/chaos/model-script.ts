/** The answers of the model under chaos: a pure function of the conversation.
 *  It must never read a clock, a counter or anything beside its arguments. */
import { createHash } from 'node:crypto';
import { chanceOf } from './random.ts';

/** Percent of the calls that fail in each way. */
export interface ModelFaults {
  /** 500. */
  readonly error?: number;
  /** 429 with `Retry-After: 1`. */
  readonly limit?: number;
  /** The connection is lost in the middle of the answer. */
  readonly cut?: number;
  /** The answer stops in the middle. */
  readonly stall?: number;
  /** The first piece comes late. */
  readonly slow?: number;
  /** Only the first calls of a conversation may fail: this many, of each model or of those named. Default: 2. */
  readonly most?: number | Readonly<Record<string, number>>;
}

export type ModelFault = 'error' | 'limit' | 'cut' | 'stall' | 'slow';

/** What a user's message requests of the model, as JSON; the last message of that form counts. */
export interface ModelScript {
  /** Names the request, and begins the label of every tool call. */
  readonly label: string;
  /** Rounds of tool calls before the answer. */
  readonly rounds: number;
  /** Tool calls per round. */
  readonly calls: number;
  /** Of the answer. */
  readonly words: number;
  /** Between two pieces of an answer, milliseconds. */
  readonly pace_ms: number;
  /** Tools to choose from, by their names in the catalog. */
  readonly tools: readonly string[];
  /** Added to the arguments of every call. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly faults: ModelFaults;
}

export interface SaidCall {
  readonly id: string;
  readonly arguments: unknown;
}

/** A message, in any provider's form. */
export interface Said {
  readonly role: string;
  readonly text: string;
  readonly calls: readonly SaidCall[];
  /** The call that a tool's message answers. */
  readonly answers: string | null;
}

export interface ScriptedCall {
  readonly id: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>> & { readonly label: string };
}

export interface ScriptedTurn {
  readonly text: string;
  readonly calls: readonly ScriptedCall[];
}

const NO_SCRIPT: ModelScript = {
  label: 'nobody',
  rounds: 0,
  calls: 0,
  words: 3,
  pace_ms: 0,
  tools: [],
  args: {},
  faults: {},
};

export function readScript(text: string): ModelScript | null {
  // User messages in a row reach this wire as paragraphs of one.
  const line = text.split('\n\n').findLast((paragraph) => paragraph.startsWith('{"label":'));
  if (line === undefined) return null;
  try {
    return { ...NO_SCRIPT, ...(JSON.parse(line) as Partial<ModelScript>) };
  } catch {
    return null;
  }
}

/** The script that a conversation follows, and how often its tools were called since. */
export function placeIn(conversation: readonly Said[]): { script: ModelScript; round: number } {
  const last = conversation.findLastIndex(({ role, text }) => role === 'user' && readScript(text) !== null);
  const script = readScript(conversation[last]?.text ?? '') ?? NO_SCRIPT;
  const round = conversation.slice(last + 1).filter(({ calls }) => calls.length > 0).length;
  return { script, round };
}

/** Fewer than a call reserves, a token for each three bytes. */
export function promptTokens(texts: readonly string[]): number {
  return Math.ceil(texts.join('').length / 4);
}

/** The answer to a conversation: tool calls as long as there are rounds, then words and a digest of all that was said. */
export function answerTo(conversation: readonly Said[]): ScriptedTurn {
  const { script, round } = placeIn(conversation);
  const { label, words } = script;
  if (round < script.rounds)
    return { text: `${label} calls ${script.calls} tools`, calls: callsOf(script, round) };
  const chance = chanceOf(`${label}/words`);
  const said = Array.from({ length: words }, (_, index) => `w${index}x${chance.between(0, 999)}`);
  return { text: [...said, digestOf(conversation)].join(' '), calls: [] };
}

/** The calls of one round, from 0. */
export function callsOf(script: ModelScript, round: number): ScriptedCall[] {
  return Array.from({ length: script.calls }, (_, index) => {
    const label = `${script.label}/${round}.${index}`;
    const chance = chanceOf(label);
    const [a, b] = [chance.between(0, 1_000_000), chance.between(0, 1_000_000)];
    const id = `call_${hashOf(script.label).slice(0, 8)}_${round}_${index}`;
    return { id, tool: chance.pick(script.tools), arguments: { label, a, b, ...script.args } };
  });
}

/** As it reaches this wire: user messages in a row are paragraphs of one. */
export function asSent(conversation: readonly Said[]): Said[] {
  const sent: Said[] = [];
  for (const message of conversation) {
    const last = sent.at(-1);
    if (last?.role === 'user' && message.role === 'user')
      sent[sent.length - 1] = { ...last, text: `${last.text}\n\n${message.text}` };
    else sent.push(message);
  }
  return sent;
}

/** The same for the same messages in the same order; call ids count only by which calls and answers they connect. */
export function digestOf(conversation: readonly Said[]): string {
  const places = new Map<string, number>();
  for (const { calls } of conversation) for (const { id } of calls) places.set(id, places.size);
  const told = asSent(conversation).map(({ role, text, calls, answers }) => [
    role,
    text,
    calls.map((call) => [places.get(call.id), call.arguments]),
    answers === null ? null : (places.get(answers) ?? `nobody's ${answers}`),
  ]);
  return hashOf(JSON.stringify(told));
}

/** The fault of the nth call, from 1, of a model with a conversation of this digest. */
export function faultOf(
  { faults }: ModelScript,
  { model, digest, nth }: { model: string; digest: string; nth: number },
): ModelFault | null {
  const { most = 2, ...percent } = faults;
  if (nth > (typeof most === 'number' ? most : (most[model] ?? 0))) return null;
  const drawn = chanceOf(`${digest}/${model}/${nth}`).next() * 100;
  let reached = 0;
  for (const kind of ['error', 'limit', 'cut', 'stall', 'slow'] as const) {
    reached += percent[kind] ?? 0;
    if (drawn < reached) return kind;
  }
  return null;
}

/** Numbers that 32 bits hold exactly. */
export function vectorOf(text: string, dimensions: number): number[] {
  const chance = chanceOf(text);
  return Array.from({ length: dimensions }, () => chance.between(-128, 128) / 128);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
