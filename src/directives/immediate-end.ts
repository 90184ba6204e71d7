// Reports directives that ended as they were accepted: those without work, and those for names that nobody serves.
// Must never be called before the journal has accepted them.
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import type { Reports } from '../platform/telemetry/reports.ts';
import type { Prepared } from './prepare.ts';

/** `accepted`: now, and not before. */
export function reportImmediate(reports: Reports, accepted: readonly Prepared[]): void {
  for (const { acceptance, job, directive } of accepted) {
    const { id, end, lane } = acceptance;
    if (end === undefined) continue;
    const error = end.status === 'failed' ? errorOf(end.signal.data) : null;
    const { traceparent } = end.signal;
    reports.ended({ requestId: job.request_id, id, directive, lane, traceparent, error, durationMs: 0 });
  }
}

function errorOf(data: unknown): ErrorEnvelope | null {
  return (data as { result?: { error?: ErrorEnvelope } }).result?.error ?? null;
}
