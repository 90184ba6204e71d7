// pipeline: several agents take over one after the other, each with the result of the one before.
// Must never start a stage before the one before it has ended.
import type { ControlHandler } from './control-context.ts';
import { handOver } from './delegate.ts';

export const pipeline: ControlHandler<'pipeline'> = (context, { type, params }) => {
  const { stages, task } = params;
  handOver(context, type, { stages, task, max_turns: null });
};
