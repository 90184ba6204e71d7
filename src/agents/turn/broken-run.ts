// How a broken run ends: through the core where possible, else from its identity alone.
// Must never end a run twice, nor keep its conversation waiting for it.
import { requestField } from '../../contract/access/tenant.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import type { EngineCore, JsonObject, RunSpec, Transition } from './transition.ts';
import type { StoredRun } from './run-store.ts';

export type RunFailure = Parameters<EngineCore['refuse']>[1];

export interface BrokenRunParts {
  core: EngineCore;
  logger: Logger;
}

/** The core does not throw. If it does after all, the run ends, instead of being tried for ever. */
export function guarded<T>(
  parts: BrokenRunParts,
  run: StoredRun,
  work: () => T,
  ended: (end: Transition) => T,
): T {
  try {
    return work();
  } catch (error) {
    return ended(brokenBy(parts, run, error));
  }
}

/** The end of a run whose turn threw an unexpected error. */
export function brokenBy(parts: BrokenRunParts, run: StoredRun, error: unknown): Transition {
  parts.logger.error(loggedOf(run, error), 'a turn failed unexpectedly; its run ends');
  return endOf(parts, run, { reason: 'internal_error', message: messageOf(error) });
}

/** The end of a run that fails for a reason outside its strategy. */
export function endOf(parts: BrokenRunParts, run: StoredRun, failure: RunFailure): Transition {
  const { spec, document, now } = run;
  if (document === null) return freed(spec, refusalOf(parts, run, spec, failure));
  try {
    return parts.core.fail(spec, document, failure, now);
  } catch (error) {
    parts.logger.error(loggedOf(run, error), 'a run could not be failed by the core');
    return freed(spec, refusalOf(parts, run, spec, failure));
  }
}

/** The run's own data may be what breaks it; its identity cannot. */
export function refusalOf(
  { core, logger }: BrokenRunParts,
  run: Pick<StoredRun, 'requestId' | 'now' | 'seal'>,
  spec: RunSpec,
  failure: RunFailure,
): Transition {
  try {
    return core.refuse(spec, failure, run.now);
  } catch (error) {
    logger.error(loggedOf(run, error), 'a run could not be refused by the core');
    return core.refuse({ ...spec, messages: [], overrides: {} }, failure, run.now);
  }
}

/** The error of an encrypted run may hold what it says. */
function loggedOf({ requestId, seal }: Pick<StoredRun, 'requestId' | 'seal'>, error: unknown): JsonObject {
  const named = error instanceof Error ? error.name : 'unknown';
  return { ...requestField(requestId), error: seal === null ? error : named };
}

/**
 * The end of a run whose document, spec or signals cannot be read. One that had ended before keeps its status, and its
 * log gets no more signals.
 */
export function endOfUnreadable(parts: BrokenRunParts, run: StoredRun, fault: string): Transition {
  const { requestId, status, endedAt } = run;
  parts.logger.error({ ...requestField(requestId), fault }, 'a run cannot be read; it ends');
  const failure = run.lock ?? { reason: 'internal_error', message: `the run cannot be read: ${fault}` };
  const end = endOf(parts, run, failure);
  return endedAt === null ? end : { ...end, document: { ...end.document, status }, signals: [] };
}

/**
 * A refused run may hold its conversation, or wait for it: it leaves once its end is written. This end is never written
 * if another engine has begun the run meanwhile. `messages` null: the history stays unchanged.
 */
export function freed(
  { conversation_id }: RunSpec,
  transition: Transition,
  messages: readonly JsonObject[] | null = null,
): Transition {
  if (conversation_id === null) return transition;
  const entry = {
    id: 'end:conversation',
    kind: 'end_conversation',
    conversation_id,
    messages,
  } as const;
  const { document } = transition;
  return { ...transition, document: { ...document, outbox: [...document.outbox, entry] } };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
