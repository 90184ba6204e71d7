// One call of a language model: the request, the model, the limits.
// Must never repeat a call: retries belong to the queue.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ModelRef } from '../contract/model/model-name.ts';
import { beginLimits, type CallLimits, type LimitSettings } from './call-limits.ts';
import { incompleteness, type ModelAnswer, type ModelReply } from './answers/model-answer.ts';
import { failure, type ModelFailure, modelFailure } from './answers/model-failure.ts';
import { isUnsent } from './requests/sent-requests.ts';
import { promptTokens, type ReportedTokens, spentTokens } from './answers/spent-tokens.ts';

export type CallOptions = Omit<LanguageModelV4CallOptions, 'abortSignal' | 'includeRawChunks'>;

export interface ModelCall {
  model: LanguageModelV4;
  ref: ModelRef;
  options: CallOptions;
  limits: LimitSettings;
  signal: AbortSignal;
}

/** The progress of a call. */
export interface CallProgress {
  /** The provider has started to answer. */
  hasAnswered: boolean;
  reported: ReportedTokens;
  /** Characters the model has written. */
  written: number;
  /** Number of chunks of the answer. */
  pieces: number;
}

export const NOTHING_YET: CallProgress = {
  hasAnswered: false,
  reported: { input: null, output: null },
  written: 0,
  pieces: 0,
};

/** The result of `perform` within the limits. An incomplete answer is a failure; nothing is thrown. */
export async function withinLimits(
  call: Omit<ModelCall, 'model'>,
  perform: (limits: CallLimits, startedAt: number) => Promise<ModelAnswer | ModelFailure>,
  progress: () => CallProgress,
): Promise<ModelReply> {
  const limits = beginLimits(call.signal, call.limits);
  const startedAt = performance.now();
  let reply: ModelReply | undefined;
  try {
    const outcome = await orStopped(perform(limits, startedAt), limits);
    reply = judged(outcome, call, limits, progress());
  } catch (thrown) {
    const found = stoppedBy(limits, call, progress()) ?? modelFailure(thrown, call.ref, Date.now());
    reply = failed(found, call, progress());
  } finally {
    limits.end(reply?.ok !== true);
  }
  return reply;
}

/** Returns at the signal, also when the model ignores it. */
async function orStopped<T>(work: Promise<T>, { signal }: CallLimits): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onStop = (): void => reject(signal.reason as Error);
  if (signal.aborted) onStop();
  else signal.addEventListener('abort', onStop, { once: true });
  work.catch(() => {});
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onStop);
  }
}

function judged(
  outcome: ModelAnswer | ModelFailure,
  call: Omit<ModelCall, 'model'>,
  limits: CallLimits,
  progress: CallProgress,
): ModelReply {
  const stopped = stoppedBy(limits, call, progress);
  if (stopped) return failed(stopped, call, progress);
  if ('error' in outcome) return failed(outcome, call, progress);
  const mayBeEmpty = call.options.prompt.at(-1)?.role === 'tool';
  const incomplete = incompleteness(outcome, call.ref, { mayBeEmpty });
  return incomplete ? failed(incomplete, call, progress) : { ok: true, answer: outcome };
}

function failed(
  found: ModelFailure,
  { options }: Omit<ModelCall, 'model'>,
  progress: CallProgress,
): ModelReply {
  const details =
    progress.pieces > 0 ? { ...found.error.details, pieces: progress.pieces } : found.error.details;
  const detailed = { ...found, error: { ...found.error, details } };
  if (!found.mayHaveCost && !progress.hasAnswered) return { ok: false, failure: detailed, spent: null };
  const spent = spentTokens(progress.reported, promptTokens(options.prompt), progress.written);
  return { ok: false, failure: detailed, spent };
}

function stoppedBy(
  { signal, stop }: CallLimits,
  { ref, limits }: Omit<ModelCall, 'model'>,
  { hasAnswered }: CallProgress,
): ModelFailure | null {
  const details = { model: ref.name, answered: hasAnswered };
  const cost = { mayHaveCost: !isUnsent(signal) };
  switch (stop()) {
    case null:
      return null;
    case 'caller':
      return failure('cancelled', 'the call was stopped', details, cost);
    case 'total':
      return failure(
        'timeout',
        `no complete answer within ${limits.timeoutMs} ms`,
        { ...details, limit: 'total', timeout_ms: limits.timeoutMs },
        cost,
      );
    case 'idle':
      return failure('timeout', `the answer stopped for ${limits.idleTimeoutMs} ms before its end`, {
        ...details,
        limit: 'idle',
        timeout_ms: limits.idleTimeoutMs,
      });
  }
}
