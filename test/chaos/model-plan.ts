/** The model calls of a plan, and what the model under chaos will answer to each.
 *  It must never depend on what the service answers. */
import {
  answerTo,
  asSent,
  callsOf,
  digestOf,
  promptTokens,
  type ModelFaults,
  type ModelScript,
  type Said,
  type ScriptedTurn,
  vectorOf,
} from './model-script.ts';
import type { PlannedDirective } from './plan.ts';
import type { Chance } from './random.ts';

export interface PlannedModel {
  /** `provider:model` in the order of calls. */
  readonly chain: readonly string[];
  /** Of the conversation or the texts, as the model sees them. */
  readonly digest: string;
  readonly turn: ScriptedTurn;
  /** null: it embeds nothing. */
  readonly vectors: readonly (readonly number[])[] | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly streams: boolean;
}

/** How the hostile provider answers, always without text. */
const HOSTILE_MODELS = ['event', 'lines', 'packed', 'wide', 'redirect', 'refuses', 'garbage'] as const;

/** Its model does nothing wrong, so that its budget is known to the token where no worker dies. */
export const COUNTED = 'counted';

/** Aliases of the configuration. The provider `dead` cannot be reached. */
export const CHAINS: Readonly<Record<string, readonly string[]>> = {
  only: ['main:m1'],
  counted: ['main:m3'],
  'second-choice': ['main:m1', 'spare:m2'],
  'behind-dead': ['dead:m0', 'main:m1'],
  ...Object.fromEntries(HOSTILE_MODELS.map((name) => [`hostile-${name}`, [`hostile:${name}`]])),
};

/** Tokens: more than any answer has, and little more, so that a call whose worker died counts as little more than it took. */
export const LONGEST_ANSWER = 256;

/** A call takes several times what stays reserved for an answer: what is not counted shows beside what was reserved and lost. */
const LONG_PROMPT = 'x'.repeat(6_000);

export const MODEL_KINDS = {
  llm_stream: 10,
  llm_slow: 6,
  llm_generate: 5,
  llm_counted: 8,
  llm_tools: 4,
  llm_history: 4,
  llm_embed: 4,
  llm_stalling: 2,
  llm_second_choice: 4,
  llm_behind_dead: 3,
  llm_failing: 2,
  llm_unknown: 1,
  llm_hostile: 2,
} as const;

export type ModelKind = keyof typeof MODEL_KINDS;

export function isModelKind(kind: string): kind is ModelKind {
  return Object.hasOwn(MODEL_KINDS, kind);
}

export const MODEL_TOOLS = [
  'alpha.read',
  'alpha.idempotent',
  'beta.plain',
  'beta.read',
  'gamma.idempotent',
] as const;
const SYSTEM_PROMPT = 'You are under chaos.';
const IDLE_MS = 1_000;
const ALWAYS = 1_000;
const USUAL_FAULTS: ModelFaults = { error: 8, limit: 2, cut: 8, slow: 5 };

interface Shape {
  /** One of CHAINS, or unknown. */
  readonly alias: string;
  readonly type?: 'llm_stream' | 'llm_generate';
  readonly faults: ModelFaults;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly script?: Partial<ModelScript>;
  readonly expect?: PlannedDirective['expect'];
  /** How many tool rounds the conversation already has. */
  readonly behind?: number;
}

export function planModelCall(
  chance: Chance,
  { requestId, id, kind, deadlineMs }: { requestId: string; id: string; kind: ModelKind; deadlineMs: number },
): PlannedDirective {
  const maxRetries = chance.percent(70) ? chance.between(1, 4) : 0;
  const retries = {
    max_retries: maxRetries,
    retry_backoff_ms: chance.between(0, 600),
    max_backoff_ms: 3_000,
    deadline_ms: deadlineMs,
  };
  const label = `${requestId}/${id}`;
  const identity = { id, request_id: requestId, ...retries };
  const { body, model, expect } =
    kind === 'llm_embed'
      ? planEmbedding(chance, label)
      : planConversation(chance, label, shapeOf(chance, kind, maxRetries));
  return {
    id,
    body: { ...body, ...identity },
    kind,
    expect,
    effect: 'idempotent',
    label: `${label}/model`,
    sum: 0,
    toolFailures: 0,
    maxRetries,
    timeoutMs: null,
    deadlineMs,
    model,
  };
}

type Planned = Pick<PlannedDirective, 'body' | 'expect'> & { model: PlannedModel };

function planEmbedding(chance: Chance, label: string): Planned {
  const script = scriptOf(label, { faults: { ...USUAL_FAULTS, limit: 0 } });
  const texts = [
    JSON.stringify(script),
    ...Array.from({ length: chance.between(0, 20) }, (_, n) => `text ${n}`),
  ];
  const [dimensions, encoded] = [chance.between(2, 16), chance.percent(50)];
  const said = texts.map((text) => ({ role: 'user', text, calls: [], answers: null }));
  const model: PlannedModel = {
    chain: CHAINS['only'] ?? [],
    digest: digestOf(said),
    turn: { text: '', calls: [] },
    vectors: texts.map((text) => vectorOf(text, dimensions)),
    usage: { input_tokens: promptTokens(texts), output_tokens: 0 },
    streams: false,
  };
  const format = encoded ? { encoding_format: 'base64' } : {};
  return {
    body: { type: 'llm_embed', model: 'main:m1', texts, dimensions, ...format },
    model,
    expect: 'turn',
  };
}

function scriptOf(label: string, fields: Partial<ModelScript>): ModelScript {
  return {
    label,
    rounds: 0,
    calls: 0,
    words: 5,
    pace_ms: 0,
    tools: MODEL_TOOLS,
    args: {},
    faults: {},
    ...fields,
  };
}

function planConversation(chance: Chance, label: string, shape: Shape): Planned {
  const { alias, fields = {}, faults, expect = 'turn', behind = 0 } = shape;
  const type = shape.type ?? 'llm_stream';
  const script = scriptOf(label, {
    words: chance.between(3, 60),
    pace_ms: chance.between(0, 20),
    ...shape.script,
    faults,
  });
  const prompted = chance.percent(40);
  const { said, messages } = conversationOf(script, behind);
  const shown = prompted ? [saidOf('system', SYSTEM_PROMPT), ...said] : said;
  const turn = answerTo(shown);
  const model: PlannedModel = {
    chain: CHAINS[alias] ?? [],
    digest: digestOf(shown),
    turn,
    vectors: null,
    usage: usageOf(shown, turn),
    streams: type === 'llm_stream',
  };
  const body = {
    type,
    model_alias: alias,
    context: chance.percent(50) ? messages : { messages },
    ...(prompted ? { system_prompt: SYSTEM_PROMPT } : {}),
    ...(script.rounds > 0 ? { tools: MODEL_TOOLS } : {}),
    max_tokens: LONGEST_ANSWER,
    ...fields,
  };
  return { body, model, expect };
}

/** What the model server reports. */
export function usageOf(shown: readonly Said[], turn: ScriptedTurn): PlannedModel['usage'] {
  return {
    input_tokens: promptTokens(asSent(shown).map(({ text }) => text)),
    output_tokens: turn.text.split(' ').length + turn.calls.length,
  };
}

function saidOf(role: string, text: string): Said {
  return { role, text, calls: [], answers: null };
}

/** A conversation with this many tool rounds, as the model sees it and as a directive holds it. */
function conversationOf(script: ModelScript, rounds: number): { said: Said[]; messages: object[] } {
  const asked = JSON.stringify(script);
  const said: Said[] = [saidOf('user', asked)];
  const messages: object[] = [{ role: 'user', content: asked }];
  for (let round = 0; round < rounds; round += 1) {
    const calls = callsOf(script, round);
    const text = `thinks ${round}`;
    said.push({ role: 'assistant', text, calls, answers: null });
    const toolCalls = calls.map(({ id, tool, arguments: args }) => ({ id, name: tool, arguments: args }));
    messages.push({ role: 'assistant', content: text, tool_calls: toolCalls });
    for (const { id } of calls) {
      const content = JSON.stringify({ ok: true, result: `${script.label} ${id}` });
      said.push({ role: 'tool', text: content, calls: [], answers: id });
      messages.push({ role: 'tool', tool_call_id: id, content });
    }
  }
  return { said, messages };
}

function shapeOf(chance: Chance, kind: Exclude<ModelKind, 'llm_embed'>, maxRetries: number): Shape {
  const alias = chance.percent(60) ? 'only' : 'second-choice';
  switch (kind) {
    case 'llm_stream':
      return { alias, faults: USUAL_FAULTS };
    case 'llm_slow':
      return {
        alias,
        faults: {},
        script: { words: chance.between(40, 80), pace_ms: chance.between(50, 100) },
      };
    case 'llm_generate':
      return { alias, type: 'llm_generate', faults: USUAL_FAULTS };
    case 'llm_counted':
      return { alias: COUNTED, type: 'llm_generate', faults: {}, script: { args: { long: LONG_PROMPT } } };
    case 'llm_tools':
      return {
        alias,
        type: chance.pick(['llm_stream', 'llm_generate']),
        faults: USUAL_FAULTS,
        script: { rounds: 1, calls: chance.between(1, 4) },
      };
    case 'llm_history': {
      const rounds = chance.between(1, 3);
      return { alias, faults: USUAL_FAULTS, behind: rounds, script: { rounds, calls: chance.between(1, 3) } };
    }
    case 'llm_stalling':
      return {
        alias,
        faults: { stall: 100, most: chance.between(1, 2) },
        fields: { idle_timeout_ms: IDLE_MS },
        script: { words: 10 },
      };
    // The first one never answers, the second one at its last attempt.
    case 'llm_second_choice':
      return { alias: 'second-choice', faults: { error: 100, most: { m1: ALWAYS, m2: maxRetries } } };
    case 'llm_behind_dead':
      return { alias: 'behind-dead', faults: {} };
    case 'llm_failing':
      return { alias, faults: { error: 100, most: ALWAYS }, expect: 'model_failure' };
    case 'llm_hostile':
      return {
        alias: `hostile-${chance.pick(HOSTILE_MODELS)}`,
        type: chance.pick(['llm_stream', 'llm_generate']),
        faults: {},
        fields: { timeout_ms: 5_000 },
        expect: 'hostile',
      };
    case 'llm_unknown':
      return { alias: 'nobody', faults: {}, expect: 'unknown_model' };
  }
}
