// Decides whether a directive that ends without its worker may have been executed, so that its outcome is unknown.
// Must never assume that a repeat is harmless when only a worker knows the repeat policy.
import { DIRECTIVE_TYPES, type Directive } from '../../contract/directive/directive.ts';
import { knownRepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';

/** An attempt has begun without a recorded end, or its server goes on with it, and a repeat could do harm. */
export function mayHaveRun(
  { status, startedAt, task }: Pick<DirectiveRecord, 'status' | 'startedAt' | 'task'>,
  directive: Directive,
): boolean {
  const hasBegun = status === 'running' && startedAt !== null;
  // @guard unknown-outcome-2
  return (hasBegun || task) && !isHarmless(directive);
}

/** Decides by the directive alone. The policies of tools and custom types are known only to the workers, so they count as harmful. */
function isHarmless(directive: Directive): boolean {
  if (directive.type === 'tool_exec') return knownRepeatPolicy(directive.effect) !== 'once';
  return DIRECTIVE_TYPES.includes(directive.type);
}
