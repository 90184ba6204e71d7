// Where the spans of a run are: its own, which is reported at its end, and one for each turn.
// Must never depend on the process: any engine takes a turn, and another may end the run.
import type { SpanPlace } from '../../platform/telemetry/traces/span.ts';
import { placeUnder, type SpanParent, traceparentOf } from '../../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';

export function runPlace(parent: SpanParent, requestId: string): SpanPlace {
  return placeUnder(parent, requestId, 'run');
}

/** `version`: the one that the turn writes. */
export function turnPlace(parent: SpanParent, requestId: string, version: number): SpanPlace {
  return placeUnder(runPlace(parent, requestId), 'turn', version);
}

/** The context of a turn: what it causes continues it. */
export function turnContext(
  spans: Spans,
  { requestId, traceparent }: { requestId: string; traceparent: string },
  version: number,
): string {
  const parent = spans.under(traceparent);
  return parent === null ? traceparent : traceparentOf(turnPlace(parent, requestId, version));
}
