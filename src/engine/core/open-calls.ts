// The directives of a run that are accepted and not answered yet.
// Must never accept two directives of one id.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { Transition } from '../transition.ts';
import { errorDirective } from './complete-directive.ts';
import { isEmpty, type OpenCall, type Run, without } from './run-state.ts';

/** The directive goes out with this turn, and its answer is waited for. */
export function accept(run: Run, directive: Transition['directives'][number], call: OpenCall): void {
  run.state.open = isEmpty(run.state.open)
    ? { [directive.id]: call }
    : { ...run.state.open, [directive.id]: call };
  run.directives.push(directive);
}

/** The call with this id is over; null when none is open under it. */
export function close(run: Run, id: string): OpenCall | null {
  const { open } = run.state;
  const call = Object.hasOwn(open, id) ? open[id] : undefined;
  if (!call) return null;
  run.state.open = without(open, id);
  return call;
}

/** What the tool call would have been is answered with an error, under the same id. */
export function answerWithError(
  run: Run,
  call: { id: string; tool_name: string },
  error: ErrorEnvelope,
): void {
  const { id, tool_name } = call;
  const directive = errorDirective(run, { type: 'emit_tool_error', id, tool_name, error });
  accept(run, directive, { type: 'emit_tool_error', name: tool_name });
}
