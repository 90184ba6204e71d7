// The measurements of an attempt: its wait, its outcome, the call of a model, the end of its directive. Never decides
// anything, nor reads the clock for more than a report.
import { modelsOf } from './model-candidate.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { Execution } from '../executors/definition.ts';
import { modelCallFacts, reportModelCall } from '../executors/model-call-facts.ts';
import { EVERYTHING, seriesAlone, toolSeries } from '../../platform/telemetry/reports.ts';
import type { AttemptParts, Claimed } from './claimed.ts';
import { deadlineOf, type Outcome } from './outcome.ts';

type Reporting = Pick<AttemptParts, 'reports'>;

export function measureClaim({ reports }: Reporting, { envelope, granted, lane }: Claimed): void {
  const waitedMs = granted.now - granted.dueAt;
  reports.meters.claimed(lane, waitedMs, granted.lostClaim !== null);
  const { directive } = envelope;
  const alone = seriesAlone(directive);
  const tool = toolSeries(directive, lane);
  const series = [...(alone.length > 0 ? alone : [EVERYTHING]), ...tool];
  reports.count(directive.request_id, { series, waitedMs: Math.max(0, waitedMs) });
  if (granted.fence === 1)
    reports.count(directive.request_id, { series: [...alone, ...tool], started: true });
}

export interface AttemptReport {
  execution: Execution;
  outcome: Outcome;
  durationMs: number;
}

export function measureAttempt(
  { reports }: Reporting,
  claimed: Claimed,
  { execution, outcome, durationMs }: AttemptReport,
): void {
  const { envelope, lane, candidate } = claimed;
  const errorType = errorTypeOf(outcome, execution);
  reports.meters.attempted({ lane, outcome: outcome.kind, errorType, durationMs });
  const model = modelsOf(claimed)[candidate.index];
  if (model === undefined) return;
  const called = modelCallFacts(envelope.directive, model, { execution, durationMs });
  const { directive } = envelope;
  if (called !== null) reportModelCall(reports, directive.request_id, directive, called);
}

export function reportEnded(
  { reports }: Reporting,
  { envelope, lane, granted, claimedAt }: Pick<Claimed, 'envelope' | 'lane'> & Partial<Claimed>,
  error: ErrorEnvelope | null,
): void {
  const { directive, traceparent } = envelope;
  const { request_id: requestId, id } = directive;
  const acceptedAt = granted ? acceptedAtOf(directive, granted.deadlineAt) : null;
  const durationMs =
    granted === undefined || claimedAt === undefined || acceptedAt === null
      ? null
      : granted.now - acceptedAt + (performance.now() - claimedAt);
  const attemptMs = claimedAt === undefined ? undefined : performance.now() - claimedAt;
  reports.ended({ requestId, id, directive, lane, traceparent, error, durationMs, attemptMs });
}

/** The instant of acceptance by the clock of Redis; null: the directive names no deadline. */
function acceptedAtOf(directive: Directive, deadlineAt: number): number | null {
  const deadlineMs = deadlineOf(directive);
  return deadlineMs === null ? null : deadlineAt - deadlineMs;
}

function errorTypeOf(outcome: Outcome, { result }: Execution): string | null {
  switch (outcome.kind) {
    case 'end':
      return outcome.result.ok ? null : outcome.result.error.type;
    case 'retry':
    case 'fallback':
      return outcome.error.type;
    case 'ask':
      return null;
    case 'pause':
    case 'release':
    case 'drop':
      return result.ok ? null : result.error.type;
  }
}
