// The directives of a run that are accepted and have no answer yet.
// Must never accept two directives with one id.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { ownMember } from '../../contract/json/json-object.ts';
import type { Transition } from '../turn/transition.ts';
import { errorDirective } from './complete-directive.ts';
import { isEmpty, type OpenCall, type Run, type RunState, without } from './run-state.ts';

/** Sends the directive with this turn; its answer is awaited. */
export function accept(run: Run, directive: Transition['directives'][number], call: OpenCall): void {
  run.state.open = isEmpty(run.state.open)
    ? { [directive.id]: call }
    : { ...run.state.open, [directive.id]: call };
  run.directives.push(directive);
}

/** The id under which the strategy knows the call. */
export function knownAs({ aliases = {} }: Pick<RunState, 'aliases'>, id: string): string {
  return ownMember(aliases, id) ?? id;
}

/** Closes the call with this id; null when it is not open. */
export function close(run: Run, id: string): OpenCall | null {
  const { open } = run.state;
  const call = Object.hasOwn(open, id) ? open[id] : undefined;
  if (!call) return null;
  run.state.open = without(open, id);
  return call;
}

/** Answers the tool call with an error under its id, instead of making it. */
export function answerWithError(
  run: Run,
  call: { id: string; tool_name: string },
  error: ErrorEnvelope,
): void {
  const { id, tool_name } = call;
  const directive = errorDirective(run, { type: 'emit_tool_error', id, tool_name, error });
  accept(run, directive, { type: 'emit_tool_error', name: tool_name });
}
