// complete: a tool reports that the task is done.
// Must never lose the summary, nor what the tool reports as missing: both are the run's result.
import type { ControlDirective } from '../../../contract/run/control-directive.ts';
import type { ControlHandler } from './control-context.ts';

export const complete: ControlHandler<'complete'> = (context, { params }) => {
  const { summary, ...details } = params;
  context.completion = { text: [summary, ...remarks(details)].join('\n\n'), details };
};

type Details = Omit<Extract<ControlDirective, { type: 'complete' }>['params'], 'summary'>;

/** Readers of the result alone, above all a parent's model, must see what is missing. */
function remarks({ coverage_gap, gap_description = '', suggested_files = [] }: Details): string[] {
  const gap = gap_description || (coverage_gap === true ? 'a part of the task' : '');
  return [
    ...(gap === '' ? [] : [`Not covered: ${gap}`]),
    ...(suggested_files.length === 0 ? [] : [`Suggested files: ${suggested_files.join(', ')}`]),
  ];
}
