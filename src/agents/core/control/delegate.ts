// delegate: another agent takes over a task; the run goes on with its answer.
// Must never delegate deeper than the limit: the model gets a message instead.
import {
  addNote,
  type ControlContext,
  type ControlHandler,
  ignoreControl,
  shownName,
  shownNames,
} from './control-context.ts';

/** Levels of delegated runs below the first. */
const MAX_DELEGATION_DEPTH = 2;

export const delegate: ControlHandler<'delegate'> = (context, { type, params }) => {
  const { target, task, max_turns } = params;
  handOver(context, type, { stages: [target], task, max_turns: max_turns ?? null });
};

function handOver(
  context: ControlContext,
  type: string,
  what: { stages: readonly string[]; task: string; max_turns: number | null },
): void {
  if (context.depth >= MAX_DELEGATION_DEPTH) {
    const stages = shownNames(
      what.stages.flatMap((stage) => shownName(stage) ?? []),
      ' -> ',
    );
    const levels = `delegated ${context.depth} levels deep already`;
    addNote(context, type, `[DELEGATION REJECTED] ${stages}: ${levels}`);
    return ignoreControl(context, type, 'too_deep');
  }
  const tag = `${type}-${context.callId}-${context.index}`.slice(0, 120);
  context.delegations.push({ tag, ...what });
}

/**
 * Several agents take over one after the other, each with the result of the one before. Must never start a stage before the one
 * before it has ended.
 */
export const pipeline: ControlHandler<'pipeline'> = (context, { type, params }) => {
  const { stages, task } = params;
  handOver(context, type, { stages, task, max_turns: null });
};
