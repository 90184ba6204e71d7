// The pure engine: one event in, the run's next actions out.
// Must never do I/O, throw, or read a clock: the shell passes everything in, and writes what comes out.
import { agentDefinitionSchema } from '../../contract/run/agent-definition.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import type { Message } from '../../contract/model/message.ts';
import { react } from '../strategies/react.ts';
import type { AnyStrategy, StrategySignal } from '../strategies/strategy.ts';
import type {
  EngineCore,
  JsonObject,
  RunDocument,
  RunEvent,
  RunSetup,
  RunSpec,
  Transition,
} from '../turn/transition.ts';
import { noteExit, noteStart } from './children.ts';
import type { CustomDirectiveType } from './directive-exec.ts';
import { answerCalls } from './history.ts';
import { concerns, takeIn } from './intake.ts';
import { announceStart, endRun, endWithAnswer, failRun } from './lifecycle.ts';
import {
  type CoreParts,
  emitSignal,
  newRun,
  openRun,
  type Run,
  sealRun,
  stateOf,
  unchanged,
} from './run-state.ts';
import { resume, withChanges } from './resume.ts';
import { runView } from './run-view.ts';
import { beginStrategy, closeTurn, step } from './step.ts';
import { narrowTools, unmatchedPatterns } from './tool-policy.ts';
import { expireApprovals } from './approvals.ts';

export interface CoreOptions {
  /** Added to `react`; one of the same name replaces it. */
  strategies?: readonly AnyStrategy[];
  directives?: readonly CustomDirectiveType[];
  /** The aliases of this installation: `tier_change` to any other is ignored. Absent = any. */
  modelAliases?: Iterable<string>;
}

/** Throws when two strategies, or two directive types, have one name. */
export function createCore(options: CoreOptions = {}): EngineCore {
  const parts = coreParts(options);
  return {
    begin: (spec, setup, now) => begin(parts, spec, setup, now),
    refuse: (spec, error, now) => refuse(parts, spec, error, now),
    advance: (spec, document, event, now) => advance(parts, spec, document, event, now),
    fail: (spec, document, error, now) => fail(parts, spec, document, error, now),
    acknowledge: (spec, document, entryId, failure, now) =>
      acknowledge(parts, spec, document, entryId, failure, now),
    view: runView,
    concerns,
  };
}

function coreParts({ strategies = [], directives = [], modelAliases }: CoreOptions): CoreParts {
  return {
    strategies: new Map([[react.name, react], ...byName(strategies, ({ name }) => name, 'strategy')]),
    customTypes: byName(directives, ({ type }) => type, 'directive type'),
    trusted: new Set([react]),
    modelAliases: modelAliases === undefined ? null : new Set(modelAliases),
  };
}

function byName<T>(list: readonly T[], nameOf: (item: T) => string, what: string): Map<string, T> {
  const named = new Map<string, T>();
  for (const item of list) {
    if (named.has(nameOf(item))) throw new Error(`the ${what} "${nameOf(item)}" is defined twice`);
    named.set(nameOf(item), item);
  }
  return named;
}

function begin(parts: CoreParts, spec: RunSpec, setup: RunSetup, now: number): Transition {
  const narrowed = narrowTools(setup.tools, spec.overrides.allowed_tools);
  const tools = narrowed.ok ? narrowed.tools : [];
  const run = newRun({ parts, spec, setup: { agent: setup.agent, tools }, now, signal: null });
  const given = spec.messages as unknown as readonly Message[];
  run.state.messages = answerCalls(given, errorEnvelope('cancelled', 'This call has no result'));
  announceStart(run);
  reportMissingTools(run, unmatchedPatterns(setup));
  if (narrowed.ok) beginStrategy(run);
  else failForTools(run, narrowed.unmatched);
  closeTurn(run);
  return sealRun(run);
}

/** The run goes on without them: its model does not see tools that no server has. */
function reportMissingTools(run: Run, patterns: readonly string[]): void {
  if (patterns.length === 0) return;
  const message = `the agent "${run.agent.name}" is allowed tools that no server has: ${named(patterns)}`;
  requestError(run, 'unknown_allowed_tools', message);
}

function requestError(run: Run, reason: string, message: string): void {
  const { request_id, run_id, agent } = run.spec;
  const data = { request_id, reason, message, metadata: { run_id, agent } };
  emitSignal(run, { type: 'ai.request.error', data });
}

const NAMED_PATTERNS = 20;

function named(patterns: readonly string[]): string {
  const left = patterns.length - NAMED_PATTERNS;
  return patterns.slice(0, NAMED_PATTERNS).join(', ') + (left > 0 ? ` and ${left} more` : '');
}

function failForTools(run: Run, unmatched: readonly string[]): void {
  const message = `allowed_tools: the agent has no tool ${named(unmatched)}`;
  requestError(run, 'unknown_allowed_tools', message);
  failRun(run, 'unknown_tool', message, { allowed_tools: unmatched });
}

function refuse(
  parts: CoreParts,
  spec: RunSpec,
  { reason, message, details = {} }: Parameters<EngineCore['refuse']>[1],
  now: number,
): Transition {
  const agent = agentDefinitionSchema.parse({ name: spec.agent });
  const unheard = { ...spec, conversation_id: null };
  const run = newRun({ parts, spec: unheard, setup: { agent, tools: [] }, now, signal: null });
  run.state.messages = spec.messages as unknown as readonly Message[];
  requestError(run, reason, message);
  refused(run, reason, message, details);
  return sealRun(run);
}

function refused(run: Run, reason: string, message: string, details: JsonObject): void {
  if (reason === 'cancelled') {
    const error = errorEnvelope('cancelled', message, details);
    endRun(run, { status: 'cancelled', error, reason });
  } else if (reason === 'deadline') {
    const error = errorEnvelope('deadline_exceeded', message, details);
    endRun(run, { status: 'timeout', error, reason: 'deadline_exceeded' });
  } else {
    failRun(run, reason, message, details);
  }
}

function advance(
  parts: CoreParts,
  spec: RunSpec,
  document: RunDocument,
  event: RunEvent,
  now: number,
): Transition {
  const signal = event.kind === 'signal' ? (event.signal as StrategySignal) : null;
  if (stateOf(document).ended) {
    if (event.kind === 'clock' || signal?.type !== 'ai.request.resumed') return unchanged(document);
    const run = openRun({ parts, spec, now, signal }, withChanges(document, signal.data));
    resume(run, signal.data, event.refusal ?? null);
    closeTurn(run);
    return sealRun(run);
  }
  const run = openRun({ parts, spec, now, signal }, document);
  if (signal) takeIn(run, signal);
  else tick(run);
  closeTurn(run);
  return sealRun(run);
}

/** A turn that the shell cannot compute or write ends the run; nothing of that turn is kept. */
function fail(
  parts: CoreParts,
  spec: RunSpec,
  document: RunDocument,
  { reason, message, details = {} }: Parameters<EngineCore['fail']>[2],
  now: number,
): Transition {
  if (stateOf(document).ended) return unchanged(document);
  const run = openRun({ parts, spec, now, signal: null }, document);
  failRun(run, reason, message, details);
  return sealRun(run);
}

function acknowledge(
  parts: CoreParts,
  spec: RunSpec,
  document: RunDocument,
  entryId: string,
  failure: string | null,
  now: number,
): Transition {
  const entry = document.outbox.find(({ id }) => id === entryId);
  if (!entry) return unchanged(document);
  const run = openRun({ parts, spec, now, signal: null }, document);
  run.outbox = run.outbox.filter(({ id }) => id !== entryId);
  if (entry.kind === 'start_child' && !run.state.ended) {
    if (failure === null) noteStart(run, entry.child_request_id);
    else missChild(run, entry.child_request_id, entry.tag, failure);
    closeTurn(run);
  }
  return sealRun(run);
}

/** For its parent, a child that cannot be started has ended. */
function missChild(run: Run, requestId: string, tag: string, failure: string): void {
  if (!noteExit(run, requestId, 'failed')) return;
  const error = errorEnvelope('spawn_failed', `the child could not be started: ${failure}`);
  const data = { tag, child_request_id: requestId, status: 'failed', result: null, error, metadata: {} };
  emitSignal(run, { type: 'agent.child.exit', data });
  step(run, { type: 'agent.child.exit', data });
}

function tick(run: Run): void {
  if (run.state.asking_since === undefined && run.now >= run.state.deadline_at) {
    if (endWithAnswer(run, 'deadline_exceeded')) return;
    const ms = run.agent.limits.deadline_ms;
    const error = errorEnvelope('deadline_exceeded', `The run did not end within ${ms} ms`, {
      deadline_ms: ms,
    });
    return endRun(run, { status: 'timeout', error, reason: 'deadline_exceeded' });
  }
  expireApprovals(run);
  if (!run.state.ended) fireTimers(run);
}

function fireTimers(run: Run): void {
  const due = run.state.timers.filter((timer) => timer.due_at <= run.now);
  if (due.length === 0) return;
  run.state.timers = run.state.timers.filter((timer) => timer.due_at > run.now);
  for (const { id, message } of due.toSorted((left, right) => left.due_at - right.due_at)) {
    if (run.state.ended) return;
    const data = { timer_id: id, message, metadata: {} };
    emitSignal(run, { type: 'agent.scheduled', data });
    step(run, { type: 'agent.scheduled', data });
  }
}
