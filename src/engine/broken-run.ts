// How a run ends that cannot go on: as the core fails it where it can, by its identity alone where it cannot.
// Must never end a run twice, nor keep its conversation waiting for it.
import type { EngineCore, JsonObject, RunSpec, Transition } from './transition.ts';
import type { StoredRun } from './run-store.ts';

export type RunFailure = Parameters<EngineCore['refuse']>[1];

export interface BrokenRunParts {
  core: EngineCore;
  logger: { error(fields: object, message: string): void };
}

/** Work of the core, which does not throw; if it does all the same, the run ends instead of being tried for ever. */
export function guarded<T>(
  parts: BrokenRunParts,
  run: StoredRun,
  work: () => T,
  ended: (end: Transition) => T,
): T {
  try {
    return work();
  } catch (error) {
    parts.logger.error({ request_id: run.requestId, error }, 'a turn broke; its run is ended');
    return ended(endOf(parts, run, { reason: 'internal_error', message: messageOf(error) }));
  }
}

/** The end of a run that fails for a reason outside its strategy. */
export function endOf(parts: BrokenRunParts, run: StoredRun, failure: RunFailure): Transition {
  const { spec, document, now } = run;
  if (document === null) return freed(spec, refusalOf(parts, run, spec, failure));
  try {
    return parts.core.fail(spec, document, failure, now);
  } catch (error) {
    parts.logger.error({ request_id: run.requestId, error }, 'a run broke while it was failed');
    return freed(spec, refusalOf(parts, run, spec, failure));
  }
}

/** What was given with the run may be what breaks it; its identity cannot. */
export function refusalOf(
  { core, logger }: BrokenRunParts,
  { requestId, now }: Pick<StoredRun, 'requestId' | 'now'>,
  spec: RunSpec,
  failure: RunFailure,
): Transition {
  try {
    return core.refuse(spec, failure, now);
  } catch (error) {
    logger.error({ request_id: requestId, error }, 'a run broke while it was refused');
    return core.refuse({ ...spec, messages: [], overrides: {} }, failure, now);
  }
}

/**
 * The end of a run whose document, spec or signals cannot be read. One that had ended before keeps its status, and its log
 * says nothing more.
 */
export function endOfUnreadable(parts: BrokenRunParts, run: StoredRun, fault: string): Transition {
  const { requestId, status, endedAt } = run;
  parts.logger.error({ request_id: requestId, fault }, 'a run cannot be read; it is ended');
  const failure = { reason: 'internal_error', message: `the run cannot be read: ${fault}` };
  const end = endOf(parts, run, failure);
  return endedAt === null ? end : { ...end, document: { ...end.document, status }, signals: [] };
}

/**
 * A refused run may be the active one of its conversation, or wait there: it leaves once its end is written. Another engine
 * may have begun the run meanwhile, and then this end is never written. `messages` null: the history stays as it is.
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
