/** A span for each call, sent to a collector: under the caller's, where the call names one.
 *  It never shows an argument or a content. Loaded only with a collector. */
import { withoutCredentials } from '../../contract/json/secret-text.ts';
import { randomHex } from '../../platform/telemetry/random-pool.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { SpanPlace, SpanRecord } from '../../platform/telemetry/traces/span.ts';
import { isTraceparent, traceContext } from '../../platform/telemetry/traces/trace-context.ts';
import { openTraceExport, type TraceExport } from '../../platform/telemetry/traces/trace-export.ts';
import { type CallExport, type CallReport, closeInTime } from './call-report.ts';

export interface CallSpansOptions {
  /** Where OTLP traces are posted. */
  readonly url: string;
  /** Share of the traces that begin here which are recorded, 0 to 1. */
  readonly ratio: number;
  readonly serviceName: string;
  readonly version: string;
}

const LONGEST_VALUE = 1_024;
export function openCallSpans({ url, ratio, serviceName, version }: CallSpansOptions): CallExport {
  const resource = { 'service.name': serviceName, 'service.version': version };
  const nothing = (): void => {};
  const collector = openTraceExport({
    url,
    ratio,
    resource,
    hide: withoutCredentials,
    longestValue: LONGEST_VALUE,
    onExported: nothing,
    onDropped: nothing,
  });
  return {
    onCall(report) {
      const place = placeOf(report, collector);
      if (place !== null) collector.send(spanOf(report, place, Date.now()));
    },
    close: async () => closeInTime(async () => collector.close()),
  };
}

/** null: the trace is not recorded. */
function placeOf({ traceparent }: CallReport, collector: Pick<TraceExport, 'isChosen'>): SpanPlace | null {
  const spanId = randomHex(8);
  if (!isTraceparent(traceparent)) {
    const traceId = randomHex(16);
    return collector.isChosen(traceId) ? { traceId, spanId, parentId: null } : null;
  }
  const caller = traceContext(traceparent);
  return caller.isSampled ? { traceId: caller.traceId, spanId, parentId: caller.spanId } : null;
}

function spanOf({ tool, durationMs, errorCode }: CallReport, place: SpanPlace, endedAt: number): SpanRecord {
  return {
    place,
    name: `tools/call ${tool}`,
    kind: 'server',
    startedAt: endedAt - durationMs,
    endedAt,
    attributes: {
      [ATTRIBUTE.mcpMethod]: 'tools/call',
      [ATTRIBUTE.operation]: 'execute_tool',
      [ATTRIBUTE.toolName]: tool,
    },
    error: errorCode === null ? null : String(errorCode),
  };
}
