/** What the driver will do with one run of an agent, drawn from the seed before anything is sent.
 *  It must never depend on what the service answers: the same seed plans the same runs. */
import { LONGEST_ANSWER, MODEL_TOOLS } from './model-plan.ts';
import { callsOf, type ModelFaults, type ModelScript, type ScriptedCall } from './model-script.ts';
import { chanceOf, type Chance } from './random.ts';

/** What people decide about one call, and how often they send it. */
export type PlannedDecision =
  | { readonly kind: 'never' }
  | {
      readonly kind: 'approve' | 'deny';
      readonly afterMs: number;
      readonly arguments: Readonly<Record<string, unknown>> | null;
      /** Sent once more: the same decision, or the opposite. */
      readonly again: 'same' | 'opposite' | null;
    };

export interface PlannedInput {
  readonly afterMs: number;
  readonly id: string;
  readonly content: string;
  readonly copies: number;
}

/** Why a run may end other than with the model's answer. */
export type RunEnd =
  | 'final_answer'
  | 'max_iterations'
  | 'max_tool_calls'
  | 'deadline_exceeded'
  | 'cancelled'
  | 'approval_expired'
  | 'busy'
  | 'provider_error'
  | 'network'
  /** Planned for no run: four workers may die during one call of its model. */
  | 'worker_lost';

export interface PlannedRun {
  readonly requestId: string;
  readonly kind: RunKind;
  readonly script: ModelScript;
  /** The beginning of the history, with the script as its last message. */
  readonly given: readonly { readonly role: string; readonly content: string }[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly streams: boolean;
  readonly conversationId: string | null;
  readonly limits: { readonly max_iterations?: number; readonly max_tool_calls?: number };
  /** One of these termination reasons must be the run's. */
  readonly ends: readonly RunEnd[];
  readonly atMs: number;
  readonly copies: number;
  /** The first attempt is cut off after this long; null: it is not. */
  readonly cutAfterMs: number | null;
  readonly repeatsAfterMs: readonly number[];
  readonly conflictAfterMs: number | null;
  readonly inputs: readonly PlannedInput[];
  /** Sent as soon as a reader sees that the model has answered this often: while the run's turn is under way. */
  readonly inputsAtAnswers: number;
  readonly cancelAfterMs: number | null;
  /** Cancelled as soon as a reader sees this answer of the model, from 1; null: not cancelled. */
  readonly cancelAtAnswer: number | null;
  readonly decides: boolean;
  /** A reader follows the log live. */
  readonly followed: boolean;
}

const RUN_KINDS = {
  steady: 12,
  once: 4,
  steered: 5,
  cancelled: 4,
  careful: 5,
  max_iterations: 1,
  max_tool_calls: 1,
  deadline: 1,
  failing: 1,
  spoken: 3,
} as const;

export type RunKind = keyof typeof RUN_KINDS;

export const SYSTEM_PROMPT = 'You are an agent under chaos.';
const ONCE_TOOLS = ['alpha.once', 'beta.once', 'gamma.once'] as const;
const DEADLINE_MS = 90_000;
const USUAL_FAULTS: ModelFaults = { error: 6, limit: 1, cut: 6, slow: 4, most: 3 };
const PATIENT = { max_retries: 60, retry_backoff_ms: 400 };

const COMMON = {
  model_alias: 'only',
  system_prompt: SYSTEM_PROMPT,
  tools: ['alpha.*', 'beta.*', 'gamma.*'],
  limits: { deadline_ms: DEADLINE_MS },
  max_tokens: LONGEST_ANSWER,
  model_call: { ...PATIENT, timeout_ms: 20_000 },
  tool_call: { ...PATIENT, timeout_ms: 10_000 },
};

/** Agents of the configuration. No approval waits longer than the run may last. */
export const AGENTS = {
  steady: COMMON,
  careful: { ...COMMON, policies: { approvals: { '*.once': 'ask' }, approval_timeout_ms: 8_000 } },
  brittle: { ...COMMON, model_call: { ...COMMON.model_call, max_retries: 1 } },
} as const;

export const CALL_RETRIES = PATIENT.max_retries;
export const BRITTLE_RETRIES = 1;

/** Usually one; the runs of one conversation belong together. */
export function planRuns(seed: string, number: number): PlannedRun[] {
  const chance = chanceOf(`${seed}/run/${number}`);
  const requestId = `chaos-${seed}-run-${number}`;
  const kind = chance.weighted(RUN_KINDS);
  if (kind !== 'spoken') return [planRun(chance, requestId, kind, {})];
  const conversation_id = `talk-${requestId}`;
  const busy = chance.pick(['queue', 'queue', 'interrupt', 'reject'] as const);
  const first: RunEnd[] = busy === 'interrupt' ? ['final_answer', 'cancelled'] : ['final_answer'];
  const second: RunEnd[] = busy === 'reject' ? ['final_answer', 'busy'] : ['final_answer'];
  return [
    planRun(chance, requestId, kind, { conversation_id, busy: 'queue', ends: first }),
    planRun(chance, `${requestId}b`, kind, { conversation_id, busy, ends: second }),
  ];
}

interface Talk {
  readonly conversation_id?: string;
  readonly busy?: string;
  readonly ends?: readonly RunEnd[];
}

function planRun(chance: Chance, requestId: string, kind: RunKind, talk: Talk): PlannedRun {
  const { agent, script: wanted, limits, ends, ...acts } = shapeOf(chance, requestId, kind);
  const script = scriptOf(chance, requestId, wanted);
  const asked = { role: 'user', content: JSON.stringify(script) };
  const before = chance.percent(20)
    ? [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'good day' },
      ]
    : [];
  const given = [...before, asked];
  const streams = chance.percent(70);
  const overrides = {
    stream: streams,
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(talk.busy === undefined ? {} : { busy: talk.busy }),
  };
  const body = {
    request_id: requestId,
    agent,
    ...(before.length > 0 ? { messages: given } : { query: asked.content }),
    ...(talk.conversation_id === undefined ? {} : { conversation_id: talk.conversation_id }),
    overrides,
  };
  return {
    requestId,
    kind,
    script,
    given,
    body,
    streams,
    conversationId: talk.conversation_id ?? null,
    limits,
    ends: talk.ends ?? ends,
    atMs: chance.between(0, 2_000),
    copies: chance.percent(15) ? chance.between(2, 4) : 1,
    cutAfterMs: chance.percent(8) ? chance.between(0, 30) : null,
    repeatsAfterMs: chance.percent(20) ? [chance.between(0, 1_000), chance.between(1_000, 8_000)] : [],
    conflictAfterMs: chance.percent(8) ? chance.between(0, 4_000) : null,
    inputs: [],
    inputsAtAnswers: 0,
    cancelAfterMs: null,
    cancelAtAnswer: null,
    decides: kind === 'careful',
    followed: chance.percent(15),
    ...acts,
  };
}

function scriptOf(chance: Chance, label: string, fields: Partial<ModelScript>): ModelScript {
  const delay_ms = chance.percent(15) ? chance.between(1_500, 4_000) : chance.between(0, 300);
  return {
    label,
    rounds: 3,
    calls: chance.between(1, 3),
    words: chance.between(3, 40),
    pace_ms: chance.between(0, 15),
    tools: MODEL_TOOLS,
    args: { bare: true, delay_ms },
    faults: USUAL_FAULTS,
    ...fields,
  };
}

interface Shape {
  readonly agent: keyof typeof AGENTS;
  readonly script: Partial<ModelScript>;
  readonly limits: Readonly<Record<string, number>>;
  readonly ends: readonly RunEnd[];
  readonly inputs?: readonly PlannedInput[];
  readonly inputsAtAnswers?: number;
  readonly cancelAfterMs?: number;
  readonly cancelAtAnswer?: number;
  readonly followed?: boolean;
}

function shapeOf(chance: Chance, requestId: string, kind: RunKind): Shape {
  const plain: Shape = { agent: 'steady', script: {}, limits: {}, ends: ['final_answer'] };
  switch (kind) {
    case 'steady':
    case 'spoken':
      return plain;
    case 'once':
      return { ...plain, script: { tools: [...ONCE_TOOLS, 'alpha.read'] } };
    case 'steered':
      return chance.percent(50)
        ? { ...plain, inputs: planInputs(chance, requestId) }
        : {
            ...plain,
            inputsAtAnswers: chance.between(1, 6),
            followed: true,
            script: { rounds: 1, pace_ms: 0 },
          };
    case 'cancelled':
      return {
        ...plain,
        ends: ['final_answer', 'cancelled'],
        ...(chance.percent(50)
          ? { cancelAfterMs: chance.between(0, 5_000) }
          : { cancelAtAnswer: chance.between(1, 4), followed: true }),
      };
    case 'careful':
      return {
        ...plain,
        agent: 'careful',
        script: { rounds: 2, tools: [...ONCE_TOOLS, 'beta.plain'] },
        ends: ['final_answer', 'approval_expired'],
      };
    case 'max_iterations':
      return { ...plain, limits: { max_iterations: 2 }, ends: ['max_iterations'] };
    case 'max_tool_calls':
      return { ...plain, limits: { max_tool_calls: 2 }, script: { calls: 2 }, ends: ['max_tool_calls'] };
    case 'deadline': {
      const script = { args: { bare: true, delay_ms: 8_000 } };
      return {
        ...plain,
        limits: { deadline_ms: chance.between(500, 3_000) },
        script,
        ends: ['deadline_exceeded'],
      };
    }
    case 'failing':
      return {
        ...plain,
        agent: 'brittle',
        script: { faults: { error: 100, most: 1_000 } },
        ends: ['provider_error', 'network'],
      };
  }
}

function planInputs(chance: Chance, requestId: string): PlannedInput[] {
  return Array.from({ length: chance.between(1, 4) }, (_, index) => ({
    afterMs: chance.between(0, 5_000),
    id: `input-${index}`,
    content: `by the way, ${requestId} ${index}`,
    copies: chance.percent(25) ? 2 : 1,
  }));
}

/** What is decided about a call of the run, wherever and whenever it needs approval. */
export function decisionAbout({ arguments: args }: ScriptedCall): PlannedDecision {
  const chance = chanceOf(`${args.label}/decision`);
  const kind = chance.weighted({ approve: 5, edit: 2, deny: 2, never: 1 });
  if (kind === 'never') return { kind };
  const again = chance.percent(25) ? chance.pick(['same', 'opposite'] as const) : null;
  const edited = kind === 'edit' ? { ...args, a: Number(args['a']) + 1 } : null;
  return {
    kind: kind === 'deny' ? 'deny' : 'approve',
    afterMs: chance.between(0, 2_000),
    arguments: edited,
    again,
  };
}

/** Every call that the run's model may ever make, by its label. */
export function possibleCalls({ script }: PlannedRun): Map<string, ScriptedCall> {
  const rounds = Array.from({ length: script.rounds }, (_, round) => callsOf(script, round));
  return new Map(rounds.flat().map((call) => [call.arguments.label, call]));
}
