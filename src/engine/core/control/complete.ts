// complete: the task is done, says a tool.
// Must never lose the summary: it is the run's result.
import type { ControlHandler } from './control-context.ts';

export const complete: ControlHandler<'complete'> = (context, { params }) => {
  const { summary, gap_description } = params;
  const gap =
    gap_description === undefined || gap_description === '' ? '' : `\n\nNot covered: ${gap_description}`;
  context.completion = summary + gap;
};
