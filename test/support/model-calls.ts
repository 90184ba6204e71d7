/** The executors of model directives on real provider clients, without a journal: their reports and results.
 *  It must never reach a provider that the test did not start. */
import { type ModelBudgets, NO_MODEL_BUDGETS } from '../../src/contract/model/budget.ts';
import {
  completeDirective,
  parseSubmission,
  type SubmittedDirective,
} from '../../src/contract/directive/directive.ts';
import type { ErrorEnvelope } from '../../src/contract/error-envelope.ts';
import type { ModelTurn } from '../../src/contract/model/model-turn.ts';
import type { SignalDraft } from '../../src/contract/signal/signal.ts';
import type { Execution, ExecutionContext } from '../../src/worker/executors/definition.ts';
import { llmEmbed } from '../../src/worker/executors/llm-embed.ts';
import { llmGenerate, llmStream } from '../../src/worker/executors/llm-generate.ts';
import type { DescribedTool } from '../../src/worker/executors/llm-request.ts';
import { createSchemaChecks } from '../../src/platform/json-schema/schema-checks.ts';
import { createRegistry } from '../../src/worker/executors/registry.ts';
import type { ModelLimiter, Reservation } from '../../src/models/model-limiter.ts';
import type { RemoteProviderOptions } from '../../src/models/requests/provider-options.ts';
import { createModelProviders, type ModelProviders } from '../../src/models/providers.ts';

export type Api = 'openai' | 'openai-chat' | 'anthropic' | 'google' | 'compatible';

const PATHS: Record<Api, string> = {
  openai: '/v1',
  'openai-chat': '/v1',
  anthropic: '/v1',
  google: '/v1beta',
  compatible: '/v1',
};

export const KEY = 'sk-test-0123456789';

/** One provider named `p` whose clients use the API `api`. */
export function providersAt(
  url: string,
  api: Api,
  fields: Partial<RemoteProviderOptions> = {},
): ModelProviders {
  const type = api === 'compatible' ? 'openai-compatible' : api === 'openai-chat' ? 'openai' : api;
  const options: RemoteProviderOptions = {
    type,
    baseUrl: `${url}${PATHS[api]}`,
    headers: {},
    key: () => KEY,
    thinkTags: null,
    api: api === 'openai-chat' ? 'chat' : 'responses',
    reasoningHistory: 'as_received',
    assistantAfterTools: null,
    promptCache: () => 'off',
    model: () => ({ params: {}, structuredOutput: 'json_schema' }),
    callerNames: null,
    settings: { timeoutMs: 80_000, idleTimeoutMs: 10_000 },
    prices: new Map([['m', { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1.25 }]]),
    embeddingBatches: new Map(),
    ...fields,
  };
  return createModelProviders(new Map([['p', options]]));
}

export interface LimiterRecord {
  reserved: { model: string; tokens: number }[];
  settled: number[];
  blocked: { scope: string; ms: number }[];
}

/** A limiter that lets everything pass, except for the given answers, and records its calls. */
export function recordingLimiter(answers: Reservation[] = []): ModelLimiter & LimiterRecord {
  const record: LimiterRecord = { reserved: [], settled: [], blocked: [] };
  return {
    ...record,
    async reserve({ name }, { tokens }) {
      record.reserved.push({ model: name, tokens });
      return answers.shift() ?? { ok: true, record: (actual) => void record.settled.push(actual) };
    },
    async block(_ref, scope, ms) {
      record.blocked.push({ scope, ms });
    },
  };
}

type Delta = Extract<SignalDraft, { type: 'ai.llm.delta' }>['data'];

export interface CallResult {
  execution: Execution;
  deltas: Delta[];
  limiter: LimiterRecord;
}

export interface CallSetup {
  budgets?: ModelBudgets;
  providers: ModelProviders;
  limiter?: ReturnType<typeof recordingLimiter>;
  tools?: Readonly<Record<string, DescribedTool>>;
  context?: Partial<ExecutionContext>;
  /** Most time of a check of an output schema. Default: 20 s. */
  schemaLimitMs?: number;
  /** Called with every delta as it comes. */
  onDelta?: (delta: Delta) => void;
}

type Fields = Partial<SubmittedDirective> & { type: 'llm_stream' | 'llm_generate' | 'llm_embed' };

/** Executes one attempt of the directive; absent members get the simplest values. */
export async function call(fields: Fields, setup: CallSetup): Promise<CallResult> {
  const { providers, limiter = recordingLimiter(), tools = {}, onDelta } = setup;
  const deltas: Delta[] = [];
  const context: ExecutionContext = {
    lane: 'llm.p',
    models: ['p:m'],
    candidate: { index: 0, history: [] },
    tenant: 'default',
    attempt: 1,
    redeliveries: 0,
    signal: new AbortController().signal,
    remainingMs: 60_000,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    idempotencyKey: 'key',
    report(_type, data) {
      deltas.push(data as Delta);
      onDelta?.(data as Delta);
    },
    drained: () => Promise.resolve(true),
    whenRecorded: () => {},
    ...setup.context,
  };
  const describeTool = async (name: string) => tools[name] ?? null;
  const schemas = createSchemaChecks({ limitMs: setup.schemaLimitMs ?? 20_000 });
  const budgeted = { budgets: setup.budgets ?? NO_MODEL_BUDGETS, modelsOf: () => ['p:cheap'] };
  const options = { providers, limiter, describeTool, schemas, ...budgeted };
  const registry = createRegistry([llmStream(options), llmGenerate(options), llmEmbed(options)]);
  const definition = registry.queued(fields.type);
  if (!definition) throw new Error(`no executor of ${fields.type}`);
  const execution = await definition.execute(directive(fields), context);
  return { execution, deltas, limiter };
}

function directive(fields: Fields) {
  const given =
    fields.type === 'llm_embed' ? { texts: 'one' } : { context: [{ role: 'user', content: 'hello' }] };
  const parsed = parseSubmission({ model: 'p:m', ...given, ...fields });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  const [only] = parsed.directives;
  if (!only) throw new Error('no directive');
  return completeDirective(only, { id: 'd', request_id: 'r' });
}

export function turnIn({ execution }: CallResult): ModelTurn {
  if (!execution.result.ok) throw new Error(`no turn: ${JSON.stringify(execution.result.error)}`);
  return execution.result.payload as ModelTurn;
}

export function errorIn({ execution }: CallResult): ErrorEnvelope {
  if (execution.result.ok) throw new Error(`no failure: ${JSON.stringify(execution.result.payload)}`);
  return execution.result.error;
}

/** The joined deltas of a kind. */
export function told({ deltas }: CallResult, kind: 'content' | 'thinking'): string {
  return deltas.map(({ chunk_type, delta }) => (chunk_type === kind ? (delta as string) : '')).join('');
}
