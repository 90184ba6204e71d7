// The ids by which a line of the log is found again: request, directive, claim, trace.
// Must never hold anything that a directive carries.
import { requestField } from '../../contract/access/tenant.ts';
import { traceIdOf } from '../../platform/telemetry/traces/trace-context.ts';
import type { Claimed } from '../attempt/claimed.ts';

export function logIds({ claim, envelope }: Pick<Claimed, 'claim' | 'envelope'>) {
  const { requestId, id, fence } = claim;
  return { ...requestField(requestId), directive_id: id, fence, trace_id: traceIdOf(envelope.traceparent) };
}
