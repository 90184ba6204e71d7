// Changes how urgent a directive is that waits: in the gate, then in its record, which every entry into a gate reads.
// Must never loosen what a rule fixes, nor promise anything of a directive that has been let out.
import type { Prioritized } from '../../contract/directive/flow.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { ownId } from '../../contract/access/tenant.ts';
import { ticketIn } from '../../queue/flow/ticket.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import { unknownDirective } from '../read/not-found.ts';

export interface ChangeInGate {
  /** `out`: it was released, and keeps its place. `unknown`: it is not in the gate; its record decides when it enters. */
  change(
    lane: string,
    ref: { requestId: string; id: string },
    priority: number,
  ): Promise<'changed' | 'out' | 'unknown'>;
}

const WHY: Readonly<Record<'ended' | 'running' | 'out' | 'plain', string>> = {
  ended: 'it has ended',
  running: 'it is running',
  out: 'it was let out, and begins next',
  plain:
    'it takes no turn: it was submitted without priority, fairness_key, concurrency and rate, to a lane that is not fair between tenants (flow.lanes)',
};

/** Throws `DirectiveRefused` (`not_found`, `not_waiting`). The same again is the same. */
export function createPrioritize(
  journal: Pick<Journal, 'directive' | 'envelope' | 'prioritize'>,
  gates: ChangeInGate | undefined,
) {
  return async (requestId: string, id: string, priority: number): Promise<Prioritized> => {
    const [record, json] = await Promise.all([
      journal.directive(requestId, id),
      journal.envelope(requestId, id),
    ]);
    if (record === null || json === null) throw unknownDirective(requestId, id);
    const { lane } = record;
    const ticket = lane === null ? null : ticketIn(decodeEnvelope(json), lane);
    if (record.terminal !== null) throw notWaiting(requestId, id, WHY.ended);
    if (lane === null || ticket === null) throw notWaiting(requestId, id, WHY.plain);
    // @guard priority-fixed
    if (ticket.fixed_by !== undefined)
      throw notWaiting(
        requestId,
        id,
        `the rule "${ticket.fixed_by}" of the configuration fixes its priority`,
      );
    if (record.status === 'running') throw notWaiting(requestId, id, WHY.running);
    // First: what has been let out keeps its priority, in its record too.
    const changed = await gates?.change(lane, { requestId, id }, priority);
    if (changed === 'out') throw notWaiting(requestId, id, WHY.out);
    const kept = await journal.prioritize(requestId, id, priority);
    if (kept === 'unknown') throw unknownDirective(requestId, id);
    if (kept !== 'kept') throw notWaiting(requestId, id, WHY[kept]);
    return { request_id: ownId(requestId), id, priority };
  };
}

function notWaiting(requestId: string, id: string, why: string): DirectiveRefused {
  const detail = `the priority of "${id}" of request "${ownId(requestId)}" cannot be changed: ${why}`;
  return new DirectiveRefused(problem('not_waiting', { detail }));
}
