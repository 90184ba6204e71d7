// The sampling of a tool during its call: answered within the budget of its server, and counted. Never calls a model
// that the configuration does not name for the server or its budget, nor shows the server why a provider failed.
import { scopedId } from '../../contract/access/tenant.ts';
import type { ResolvedModels } from '../../contract/model/model-name.ts';
import {
  type LlmGenerate,
  llmGenerateSchema,
  type ToolExec,
} from '../../contract/directive/work-directive.ts';
import type { OnSampling, SamplingReply, SamplingRequest } from '../../mcp/questions/sampling.ts';
import type { ExecutionContext } from './definition.ts';
import {
  type Answered,
  type AnswerOptions,
  type BudgetAnswers,
  askModels,
  denial,
  mostTokens,
  NO_TOKENS,
  type TokenCounts,
} from './llm-sampled-answer.ts';

/** The sampling that the operator allows a server. */
export interface SamplingSettings {
  /** As the configuration names it. */
  readonly model: string;
  readonly maxTokens: number;
  /** Default: as the provider's lane says. */
  readonly timeoutMs: number | undefined;
  readonly limits: SamplingLimits;
}

export interface SamplingLimits {
  readonly requestsPerCall: number;
  readonly tokensPerCall: number;
  readonly tokensPerDay: number;
}

export type SamplingBudget =
  | { readonly ok: true; settle(actualTokens: number): void }
  | { readonly ok: false; readonly spent: 'requests' | 'call' | 'day'; readonly leftMs: number };

export interface SamplingOptions extends AnswerOptions {
  resolve(model: string): ResolvedModels;
  readonly budgets: {
    /** Rejects when Redis does not answer. */
    reserve(
      call: { server: string; requestId: string; id: string; remainingMs: number },
      limits: SamplingLimits,
      tokens: number,
    ): Promise<SamplingBudget>;
  };
}

/** The sampling of one attempt. */
export interface ToolSampling {
  readonly onSampling: OnSampling;
  /** For the metadata of the terminal signal; null: the tool has asked nothing. */
  report(): SamplingReport | null;
}

export interface SamplingReport {
  model: string;
  requests: number;
  refused: number;
  /** Why the last one was. */
  refusal?: string;
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  /** Requests of which the tokens are the most that they may have used: they were stopped, or their answer was lost. */
  estimated?: number;
  /** US dollars, of models with a price. */
  cost?: number;
  /** The last budget that was too small, and whose cheaper models answered. */
  budget?: { name: string; cheaper: string };
}

interface Sampled {
  readonly server: string;
  readonly settings: SamplingSettings;
  readonly directive: ToolExec;
  readonly context: ExecutionContext;
}

/** One request of a call at a time: its place in the lane of its server holds at most one place at a provider. */
export function toolSampling(options: SamplingOptions, call: Sampled): ToolSampling {
  const { settings } = call;
  const report: SamplingReport = {
    model: settings.model,
    requests: 0,
    refused: 0,
    input_tokens: 0,
    output_tokens: 0,
    total_tokens: 0,
  };
  let last: Promise<unknown> = Promise.resolve();
  const said: BudgetAnswers = new Map();
  const answer = async (
    request: SamplingRequest,
    signal: AbortSignal,
    number: number,
  ): Promise<SamplingReply> => {
    const reply = await sampled(options, call, { request, signal, number, report, said }).catch(broken);
    if (!reply.ok) Object.assign(report, { refused: report.refused + 1, refusal: reply.reason });
    return reply;
  };
  return {
    async onSampling(request, withdrawn) {
      report.requests += 1;
      // Before anything waits: a server may ask thousands of times.
      if (report.requests > settings.limits.requestsPerCall) {
        const reply = refused(spentText(call, 'requests', 0));
        Object.assign(report, { refused: report.refused + 1, refusal: reply.reason });
        return reply;
      }
      const number = report.requests;
      const reply = last.then(async () => answer(request, withdrawn, number));
      last = reply;
      return reply;
    },
    report: () => (report.requests === 0 ? null : { ...report }),
  };
}

interface Asking {
  readonly request: SamplingRequest;
  readonly signal: AbortSignal;
  readonly number: number;
  readonly report: SamplingReport;
  readonly said: BudgetAnswers;
}

async function sampled(
  options: SamplingOptions,
  call: Sampled,
  { request, signal, number, report, said }: Asking,
): Promise<SamplingReply> {
  const { server, settings, context } = call;
  if (signal.aborted) return refused('the call has ended');
  const models = options.resolve(settings.model);
  if (!models.ok) return refused(`the model of mcpServers.${server}.sampling is not available here`);
  const asked = generateOf(call, request);
  const most = mostTokens(asked);
  const reserving = options.budgets.reserve(callOf(call), settings.limits, most.total);
  const budget = await unlessAborted(reserving, signal).catch(() => 'unread' as const);
  if (budget === null) return refused('the call has ended');
  if (budget === 'unread') return refused('its budget cannot be read at present');
  if (!budget.ok) return refused(spentText(call, budget.spent, budget.leftMs));
  const names = models.models.map(({ name }) => name);
  const denied = await denial(context, { models: names, number, cheaper: null });
  if (denied !== null || signal.aborted) {
    budget.settle(0);
    return refused(denied ?? 'the call has ended');
  }
  // A report that is made before the answer is there holds the most that it may take.
  count(report, { from: NO_TOKENS, to: most, estimated: 1 });
  const given = { models: names, most, server, number, context, signal, said };
  const answered = await askModels(options, asked, given);
  const { tokens, isEstimated, cost, budget: breached } = answered;
  budget.settle(tokens.total);
  count(report, { from: most, to: tokens, estimated: isEstimated ? 0 : -1 });
  if (breached !== undefined) report.budget = breached;
  if (cost > 0) report.cost = (report.cost ?? 0) + cost;
  if (answered.denied !== undefined) return refused(answered.denied);
  if (!answered.outcome.ok) return refused(`the model call failed (${answered.outcome.error.type})`);
  return replyOf(answered.outcome.turn, request);
}

function callOf({ server, directive, context }: Sampled) {
  const { request_id, id } = directive;
  return { server, requestId: scopedId(context.tenant, request_id), id, remainingMs: context.remainingMs };
}

/** The result; null: it is not needed any more, and an amount that is reserved later is released. */
async function unlessAborted(
  reserving: Promise<SamplingBudget>,
  signal: AbortSignal,
): Promise<SamplingBudget | null> {
  const gone = Promise.withResolvers<null>();
  const onAbort = (): void => gone.resolve(null);
  signal.addEventListener('abort', onAbort, { once: true });
  const budget = await Promise.race([reserving, gone.promise]).finally(() =>
    signal.removeEventListener('abort', onAbort),
  );
  if (budget === null) reserving.then((late) => (late.ok ? late.settle(0) : undefined)).catch(() => {});
  return budget;
}

/**
 * Represents messages that are checked as they are read: checking megabytes of images again would block the event loop.
 */
const CHECKED = [{ role: 'user', content: '-' }];

/** As any caller may ask for it; throws where it is none that can be asked. */
function generateOf({ settings, directive }: Sampled, request: SamplingRequest): LlmGenerate {
  const { systemPrompt, temperature } = request;
  const asked = llmGenerateSchema.parse({
    type: 'llm_generate',
    id: directive.id,
    request_id: directive.request_id,
    model: settings.model,
    context: CHECKED,
    max_tokens: Math.floor(Math.min(request.maxTokens, settings.maxTokens)),
    ...(systemPrompt === null ? {} : { system_prompt: systemPrompt }),
    ...(temperature === null ? {} : { temperature }),
    ...(settings.timeoutMs === undefined ? {} : { timeout_ms: settings.timeoutMs }),
  });
  return { ...asked, context: [...request.messages] };
}

/** Replaces what was counted for a request. */
function count(
  report: SamplingReport,
  { from, to, estimated }: { from: TokenCounts; to: TokenCounts; estimated: number },
): void {
  report.input_tokens += to.input - from.input;
  report.output_tokens += to.output - from.output;
  report.total_tokens += to.total - from.total;
  report.estimated = (report.estimated ?? 0) + estimated;
  if (report.estimated === 0) delete report.estimated;
}

/** Not every provider knows stop sequences, so that they are found in the text. */
function replyOf(
  { type, text, model, finish_reason: finish }: Extract<Answered['outcome'], { ok: true }>['turn'],
  { stopSequences }: SamplingRequest,
): SamplingReply {
  if (type === 'tool_calls') return refused('the model wants to call a tool');
  if (finish === 'content_filter') return refused('the model declines to answer');
  const stops = stopSequences.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  if (stops.length > 0)
    return { ok: true, text: text.slice(0, Math.min(...stops)), model, stopReason: 'stopSequence' };
  return { ok: true, text, model, stopReason: finish === 'length' ? 'maxTokens' : 'endTurn' };
}

const SETTING_OF = {
  requests: ['max_requests_per_call', 'requestsPerCall'],
  call: ['max_tokens_per_call', 'tokensPerCall'],
  day: ['max_tokens_per_day', 'tokensPerDay'],
} as const;

function spentText(
  { server, settings: { limits } }: Sampled,
  spent: keyof typeof SETTING_OF,
  leftMs: number,
): string {
  const [setting, limit] = SETTING_OF[spent];
  const until = spent === 'day' ? ` until ${new Date(Date.now() + leftMs).toISOString()}` : '';
  return `${setting} of mcpServers.${server}.sampling (${limits[limit]}) is used up, or would be${until}`;
}

function broken(): SamplingReply {
  return refused('the request cannot be made');
}

function refused(why: string): { ok: false; reason: string } {
  return { ok: false, reason: `No model answers: ${why}` };
}
