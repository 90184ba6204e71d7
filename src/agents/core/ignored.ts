// Ignored directives: recorded, logged, counted.
// Must never end the run: it goes on without them.
import type { JsonObject } from '../turn/transition.ts';
import { count, emitSignal, type Run } from './run-state.ts';

export interface IgnoredDirective {
  type: string;
  reason: string;
  /** Id of the directive, or of the tool call whose result carried it; default: its place among the ignored ones. */
  callId?: string;
  details?: JsonObject;
}

export function ignoreDirective(run: Run, { type, reason, callId, details = {} }: IgnoredDirective): void {
  const nth = count(run, 'ignored');
  const call_id = callId ?? `ignored-${nth}`;
  const directive_type = type.slice(0, 256);
  emitSignal(run, {
    type: 'directive.ignored',
    data: { call_id, directive_type, reason, metadata: details },
  });
  run.log.push({
    level: 'warn',
    message: 'a directive was ignored',
    details: { directive_type, reason, ...details },
  });
}
