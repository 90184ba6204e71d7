// llm_embed: vectors of texts, in any number.
// Must never return a part of the vectors as the whole.
import { setTimeout as wait } from 'node:timers/promises';
import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { type LlmEmbed, llmEmbedSchema } from '../../contract/directive/work-directive.ts';
import { beginLimits, type CallLimits } from '../../models/call-limits.ts';
import { batchSize, embedBatch, type EmbeddedBatch, joinEmbeddings } from '../../models/answers/embedding.ts';
import { failure, type ModelFailure, modelFailure } from '../../models/answers/model-failure.ts';
import type { ModelLimiter } from '../../models/model-limiter.ts';
import { estimatedTokens, mostTextTokens, type SpentTokens } from '../../models/answers/spent-tokens.ts';
import {
  defineDirective,
  type DirectiveDefinition,
  type Execution,
  type ExecutionContext,
} from './definition.ts';
import { type BudgetOptions, withinBudget } from './llm-budget.ts';
import { answeredExecution, failedExecution, modelMetadata, modelOf, refused } from './llm-execution.ts';
import { usageAttributes } from './model-attributes.ts';
import { noteAnswer, noteFailure, refusedByLimit, reserve, type Reserved } from './llm-reservation.ts';
import { begunCall } from './model-call-facts.ts';

export interface EmbedOptions extends BudgetOptions {
  limiter: ModelLimiter;
}

export function llmEmbed(options: EmbedOptions): DirectiveDefinition {
  return defineDirective<LlmEmbed>({
    mode: 'queued',
    type: 'llm_embed',
    schema: llmEmbedSchema,
    repeatPolicy: () => Promise.resolve('idempotent'),
    started: () => null,
    execute: (directive, context) => embed(options, directive, context),
  });
}

interface Embedding {
  readonly model: EmbeddingModelV4;
  readonly ref: ModelRef;
  readonly directive: LlmEmbed;
  readonly limiter: ModelLimiter;
  readonly limits: CallLimits;
  readonly timeoutMs: number;
  /** Most texts of one call, as configured; null: not configured. */
  readonly batch: number | null;
  readonly traceparent: string;
  /** Asked before each batch. */
  readonly mayBegin: ExecutionContext['mayBegin'];
}

/** How the batches ended. `refusal`: one of our own limits, before anything was sent. */
type Embedded =
  | { kind: 'done'; batches: EmbeddedBatch[] }
  | { kind: 'refusal'; refusal: Extract<Reserved, { ok: false }> }
  | { kind: 'failed'; failure: ModelFailure; batches: EmbeddedBatch[] };

async function embed(
  options: EmbedOptions,
  directive: LlmEmbed,
  context: ExecutionContext,
): Promise<Execution> {
  const { providers } = options;
  const ref = modelOf(context);
  if ('error' in ref) return refused(ref.error);
  const metadata = modelMetadata(directive, ref, context, providers);
  const model = await providers.embedding(ref, directive.provider_options);
  if ('error' in model) return refused(model.error, metadata);
  const timeoutMs = directive.timeout_ms ?? providers.settings(ref.provider).timeoutMs;
  const texts = typeof directive.texts === 'string' ? [directive.texts] : directive.texts;
  const most = () => ({ input: texts.reduce((sum, text) => sum + 1 + mostTextTokens(text), 0), output: 0 });
  const made = { model, ref, directive, timeoutMs, context, metadata };
  const budgeted = { ref, context, most, timeoutMs, mayChange: false };
  const execution = await withinBudget(options, budgeted, async () => embedTexts(options, made, texts));
  return { ...execution, metadata: { ...metadata, ...execution.metadata } };
}

interface Embed extends Pick<Embedding, 'model' | 'ref' | 'directive' | 'timeoutMs'> {
  readonly context: ExecutionContext;
  readonly metadata: Record<string, unknown>;
}

async function embedTexts(
  { providers, limiter }: EmbedOptions,
  { context, metadata, ...call }: Embed,
  texts: readonly string[],
): Promise<Execution> {
  const { ref, directive, timeoutMs } = call;
  const limits = beginLimits(context.signal, { timeoutMs, idleTimeoutMs: timeoutMs });
  const { traceparent, mayBegin } = context;
  const startedAt = performance.now();
  const batch = providers.embeddingBatch(ref);
  const embedded = await allBatches({ ...call, batch, limiter, limits, traceparent, mayBegin }, texts);
  limits.end(embedded.kind === 'failed');
  if (embedded.kind === 'refusal') return refusedByLimit(ref, embedded.refusal);
  if (embedded.kind === 'failed') {
    await noteFailure(limiter, ref, embedded.failure);
    const { failure: found, batches } = embedded;
    const isKnown = !found.mayHaveCost && batches.every(({ tokens }) => tokens !== null);
    const spent = spentOn(batches, isKnown ? [] : texts);
    return failedExecution(found, spent, metadata);
  }
  const joined = joinEmbeddings(embedded.batches, {
    ref,
    dimensions: directive.dimensions,
    format: directive.encoding_format ?? 'float',
    durationMs: Math.round(performance.now() - startedAt),
  });
  if (!joined.ok) return failedExecution(joined.failure, spentOn(embedded.batches), metadata);
  const { payload } = joined;
  const answer = { payload, usage: payload.usage, durationMs: payload.duration_ms };
  const execution = answeredExecution(answer, directive, ref, providers, metadata);
  return { ...execution, span: usageAttributes(payload.usage) };
}

/** A batch that is too large for the provider is halved, and so are those after it: at most eight refusals. */
async function allBatches(embedding: Embedding, texts: readonly string[]): Promise<Embedded> {
  const { model, ref, directive, limiter, limits, traceparent, mayBegin, batch: configured } = embedding;
  const request = { dimensions: directive.dimensions, traceparent, abortSignal: limits.signal };
  const done: EmbeddedBatch[] = [];
  try {
    let size = await batchSize(model, ref, configured);
    for (let start = 0, sent = 0; start < texts.length; sent += 1) {
      const part = texts.slice(start, start + size);
      const reserved = await reserveBatch(embedding, part, sent > 0);
      if (!reserved.ok) return { kind: 'refusal', refusal: reserved };
      const embedded = await begunCall(mayBegin, async () => embedBatch(model, ref, part, request));
      if (embedded.kind === 'too_many') {
        reserved.record(0);
        size = Math.ceil(part.length / 2);
        continue;
      }
      done.push(embedded.batch);
      reserved.record(embedded.batch.tokens ?? 0);
      await noteAnswer(limiter, ref, embedded.batch.headers);
      if (embedded.kind === 'invalid') return { kind: 'failed', failure: embedded.failure, batches: done };
      start += part.length;
    }
    return { kind: 'done', batches: done };
  } catch (thrown) {
    const found = stoppedBy(embedding) ?? modelFailure(thrown, ref, Date.now());
    return { kind: 'failed', failure: found, batches: done };
  }
}

/** The first batch may be refused at no cost; for later ones waiting is cheaper than starting again. */
async function reserveBatch(
  { limiter, ref, limits }: Embedding,
  batch: readonly string[],
  hasBegun: boolean,
): Promise<Reserved> {
  const characters = batch.reduce((sum, text) => sum + text.length, 0);
  for (;;) {
    const reserved = await reserve(limiter, ref, estimatedTokens(characters));
    if (reserved.ok || !hasBegun) return reserved;
    await wait(reserved.retryAfterMs, undefined, { signal: limits.signal });
  }
}

function stoppedBy({ ref, limits, timeoutMs }: Embedding): ModelFailure | null {
  const stop = limits.stop();
  if (stop === null) return null;
  if (stop === 'caller') return failure('cancelled', 'the call was stopped', { model: ref.name });
  const details = { model: ref.name, limit: 'total', timeout_ms: timeoutMs };
  return failure('timeout', `not all vectors arrived within ${timeoutMs} ms`, details);
}

/** `lost`: texts whose use at the provider is unknown; they are in no batch, or in the last one. */
function spentOn(batches: readonly EmbeddedBatch[], lost: readonly string[] = []): SpentTokens | null {
  const counted = batches.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
  const most = lost.reduce((sum, text) => sum + estimatedTokens(text.length), 0);
  const input_tokens = Math.max(counted, most);
  if (input_tokens === 0) return null;
  return { input_tokens, output_tokens: 0, total_tokens: input_tokens, estimated: lost.length > 0 };
}
