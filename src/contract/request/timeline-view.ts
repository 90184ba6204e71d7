// The timeline of a request, made of its trace alone.
// Must never leave a span out without counting it.
import { requestPath, timelinePath } from '../api-path.ts';
import type { RequestTrace, TracedDirective, TracedRun } from './request-trace.ts';
import {
  MOST_SPANS,
  type RequestTimeline,
  type TimelineAttempt,
  type TimelineCall,
  type TimelineDirective,
} from './request-timeline.ts';
import { approvalWaits, callEvents, waitsOf } from './timeline-waits.ts';

/** `most`: attempts and waits in all. Where there are more, each directive keeps its first ones, and what comes last has none. */
export function timelineOf(trace: RequestTrace, most: number = MOST_SPANS): RequestTimeline {
  const { run, read_at: readAt } = trace;
  const budget = { left: most, leftOut: 0 };
  const calls = callsOf(trace).map((call) => ({ ...call, waits: within(budget, call.waits) }));
  const directives = trace.directives
    .map((directive) => timed(directive, readAt))
    .map((directive) => ({
      ...directive,
      attempts: within(budget, directive.attempts),
      waits: within(budget, directive.waits),
    }));
  return {
    request_id: trace.request_id,
    status: trace.status,
    created_at: trace.created_at,
    closed_at: trace.closed_at,
    read_at: readAt,
    ...(trace.trace_id === undefined ? {} : { trace_id: trace.trace_id }),
    ...(trace.trace_url === undefined ? {} : { trace_url: trace.trace_url }),
    ...(run === undefined ? {} : { run: timedRun(run) }),
    directives,
    calls,
    children: childrenOf(trace),
    directives_left_out: trace.directives_left_out,
    signals_left_out: trace.signals_left_out,
    spans_left_out: budget.leftOut,
  };
}

function childrenOf({ run, events }: RequestTrace): RequestTimeline['children'] {
  const exits = [...(run?.turns.flatMap((turn) => turn.events) ?? []), ...events].filter(
    ({ type }) => type === 'agent.child.exit',
  );
  return (run?.children ?? []).map((child) => ({
    ...child,
    timeline: timelinePath(child.request_id),
    request: requestPath(child.request_id),
    started_at: run?.turns.find(({ turn }) => turn === child.turn)?.ended_at ?? null,
    ended_at: exits.findLast(({ message }) => message.startsWith(`${child.tag} `))?.at ?? null,
  }));
}

function within<T>(budget: { left: number; leftOut: number }, spans: readonly T[]): T[] {
  const kept = spans.slice(0, budget.left);
  budget.left -= kept.length;
  budget.leftOut += spans.length - kept.length;
  return kept;
}

function timedRun({
  agent,
  status,
  termination_reason,
  parent_request_id,
  turns,
  turns_left_out,
}: TracedRun) {
  return {
    agent,
    status,
    termination_reason,
    parent_request_id,
    turns_left_out,
    turns: turns.map(({ turn, started_at, ended_at }) => ({ turn, started_at, ended_at })),
  };
}

function timed(directive: TracedDirective, readAt: string): TimelineDirective {
  const { events: _, attempts, ...facts } = directive;
  return { ...facts, attempts: attempts.map(attemptOf), waits: waitsOf(directive, readAt) };
}

function attemptOf(attempt: TracedDirective['attempts'][number]): TimelineAttempt {
  const { attempt: n, due_at: _due, delay_ms: _delay, ...facts } = attempt;
  return { n, ...facts };
}

function callsOf(trace: RequestTrace): TimelineCall[] {
  const endedAt = trace.closed_at;
  return [...callEvents(trace)].map(([callId, events]) => ({
    call_id: callId,
    name: events.find(({ type }) => type === 'ai.tool.approval_requested')?.message ?? null,
    waits: approvalWaits(events, { readAt: trace.read_at, endedAt }),
  }));
}
