// Whether a call may have happened that ends here without its worker, as far as the journal and the directive say.
// Must never call an effect harmless that only a worker could look up: "unknown" is the honest answer then.
import { DIRECTIVE_TYPES, type Directive } from '../contract/directive.ts';
import { knownRepeatPolicy } from '../contract/work-directive.ts';
import type { DirectiveRecord } from '../journal/records.ts';

/** An attempt was begun and nobody has said how it went: nobody knows how far it came. */
export function mayHaveRun({ status }: Pick<DirectiveRecord, 'status'>, directive: Directive): boolean {
  return status === 'running' && !isHarmless(directive);
}

/** As far as the directive itself says: what its tool or its user's kind says is known to the workers only. */
function isHarmless(directive: Directive): boolean {
  if (directive.type === 'tool_exec') return knownRepeatPolicy(directive.effect) !== 'once';
  return DIRECTIVE_TYPES.includes(directive.type);
}
