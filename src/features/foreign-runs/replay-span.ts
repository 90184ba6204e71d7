/** The span of a call that is answered from the record of its run: nothing else of it is in the trace of this start.
 *  It must never be taken for an execution: it lasts no time and names no worker. */
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import { isTraceparent } from '../../platform/telemetry/traces/trace-context.ts';
import { randomHex } from '../../platform/telemetry/random-pool.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';

export interface Replay {
  readonly name: string;
  /** Trace context of the caller; anything other than a W3C trace context counts as none. */
  readonly caller: unknown;
  /** Trace of the run, for a caller without one. */
  readonly run: string;
  readonly requestId: string;
}

export function reportReplay(spans: Spans, { name, caller, run, requestId }: Replay): void {
  const parent = spans.under(spans.decided(isTraceparent(caller) ? caller : run));
  if (parent === null) return;
  const at = spans.now();
  spans.report({
    place: { traceId: parent.traceId, parentId: parent.spanId, spanId: randomHex(8) },
    name,
    kind: 'internal',
    startedAt: at,
    endedAt: at,
    attributes: { [ATTRIBUTE.replayed]: true, [ATTRIBUTE.request]: requestId },
    error: null,
  });
}
