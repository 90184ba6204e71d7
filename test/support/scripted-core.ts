/** A core that executes its run's query step by step: enough to see what the shell does with every transition.
 *  It must not know more than the seam: no I/O, no clock, the same output for the same input. */
import { agentDefinitionSchema } from '../../src/contract/agent-definition.ts';
import type { RunStatus } from '../../src/contract/run.ts';
import type { Signal } from '../../src/contract/signal.ts';
import { toolExecSchema } from '../../src/contract/work-directive.ts';
import type {
  EngineCore,
  JsonObject,
  OutboxEntry,
  RunDocument,
  RunSetup,
  RunSpec,
  Transition,
} from '../../src/engine/transition.ts';

/** One step of a script; the next one begins when everything it requested has come. */
export type ScriptStep =
  | { tools: string[] }
  | { tool_errors: string[] }
  | { timer_ms: number }
  | { child: { agent: string; script: ScriptStep[] } }
  | { approval: string }
  | { inputs: number }
  | { emit: string }
  | { many: number };

interface Inner extends JsonObject {
  script: ScriptStep[];
  step: number;
  /** What the step still waits for: call ids, 'timer', 'child', 'input' … */
  pending: string[];
  /** What came, in the order in which it was read. */
  heard: string[];
  due: number | null;
  deadline: number;
}

/** The query of a run with these steps. */
export function script(...steps: ScriptStep[]): string {
  return JSON.stringify(steps);
}

export function scriptedCore(): EngineCore {
  return {
    begin,
    refuse: (spec, error, now) => {
      const agent = agentDefinitionSchema.parse({ name: spec.agent });
      return end(spec, fresh(spec, { agent, tools: [] }, now), statusFor(error.reason), error.reason);
    },
    fail: (spec, document, error) => end(spec, document, 'failed', error.reason),
    advance,
    acknowledge,
    view: (spec, document) => viewOf(spec, document),
    concerns: () => true,
  };
}

function statusFor(reason: string): RunStatus {
  return reason === 'cancelled' ? 'cancelled' : reason === 'deadline' ? 'timeout' : 'failed';
}

function inner(document: RunDocument): Inner {
  return document.inner as Inner;
}

function fresh(spec: RunSpec, setup: RunSetup, now: number): RunDocument {
  const deadline = now + (spec.overrides.limits?.deadline_ms ?? setup.agent.limits.deadline_ms);
  const steps = spec.query.startsWith('[') ? (JSON.parse(spec.query) as ScriptStep[]) : [];
  const state: Inner = { script: steps, step: -1, pending: [], heard: [], due: null, deadline };
  return { status: 'running', setup, wake_at: deadline, outbox: [], inputs: 0, inner: state };
}

function only(document: RunDocument): Transition {
  return { document, signals: [], directives: [], log: [] };
}

function begin(spec: RunSpec, setup: RunSetup, now: number): Transition {
  const started = { type: 'ai.request.started', data: { request_id: spec.request_id, query: spec.query } };
  const next = proceed(spec, fresh(spec, setup, now), now);
  return { ...next, signals: [started, ...next.signals] };
}

function isOver({ status }: RunDocument): boolean {
  return ['completed', 'failed', 'cancelled', 'timeout'].includes(status);
}

/** Steps on while nothing is awaited. */
function proceed(spec: RunSpec, before: RunDocument, now: number): Transition {
  let made = only(before);
  while (!isOver(made.document) && inner(made.document).pending.length === 0) {
    const state = inner(made.document);
    const step = state.script[state.step + 1];
    const next = step
      ? take(spec, { ...made.document, inner: { ...state, step: state.step + 1 } }, step, now)
      : end(spec, made.document, 'completed', 'final_answer');
    made = joined(made, next);
  }
  return made;
}

function joined(first: Transition, second: Transition): Transition {
  return {
    document: second.document,
    signals: [...first.signals, ...second.signals],
    directives: [...first.directives, ...second.directives],
    log: [...first.log, ...second.log],
  };
}

function waitingFor(document: RunDocument, pending: string[], more: Partial<Inner> = {}): RunDocument {
  const state = { ...inner(document), pending, ...more };
  return { ...document, inner: state, wake_at: Math.min(state.due ?? Infinity, state.deadline) };
}

function take(spec: RunSpec, document: RunDocument, step: ScriptStep, now: number): Transition {
  const { request_id } = spec;
  const id = (name: string): string => `s${inner(document).step}.${name}`;
  const call = (tool_name: string) =>
    toolExecSchema.parse({
      type: 'tool_exec',
      id: id(tool_name),
      request_id,
      tool_name,
      server: 'test',
      effect: 'idempotent',
    });
  if ('tools' in step || 'many' in step) {
    const names = 'tools' in step ? step.tools : Array.from({ length: step.many }, (_, index) => `t${index}`);
    const directives = names.map(call);
    return {
      ...only(
        waitingFor(
          document,
          directives.map((directive) => directive.id),
        ),
      ),
      directives,
    };
  }
  if ('tool_errors' in step) {
    const directives = step.tool_errors.map((tool_name) => ({
      type: 'emit_tool_error' as const,
      id: id(tool_name),
      request_id,
      tool_name,
      error: 'unknown',
      metadata: {},
    }));
    return {
      ...only(
        waitingFor(
          document,
          directives.map((directive) => directive.id),
        ),
      ),
      directives,
    };
  }
  if ('timer_ms' in step) return only(waitingFor(document, ['timer'], { due: now + step.timer_ms }));
  if ('child' in step) return startChild(spec, document, step.child);
  if ('approval' in step) {
    const data = { call_id: step.approval, tool_name: 'test.ask', metadata: {} };
    const waits = waitingFor(document, [step.approval]);
    return { ...only(waits), signals: [{ type: 'ai.tool.approval_requested', data }] };
  }
  if ('inputs' in step) {
    const held = Math.min(document.inputs, step.inputs);
    const left = Array.from({ length: step.inputs - held }, () => 'input');
    return only({ ...waitingFor(document, left), inputs: document.inputs - held });
  }
  return { ...only(document), signals: [{ type: step.emit, data: { step: inner(document).step } }] };
}

function startChild(
  spec: RunSpec,
  document: RunDocument,
  { agent, script: steps }: { agent: string; script: ScriptStep[] },
): Transition {
  const { step } = inner(document);
  const entry: OutboxEntry = {
    id: `child.${step}`,
    kind: 'start_child',
    child_request_id: `${spec.request_id}.c${step}`,
    tag: `c${step}`,
    agent,
    input: JSON.stringify(steps),
    overrides: {},
    depth: 1,
  };
  return only({ ...waitingFor(document, [`child:c${step}`]), outbox: [...document.outbox, entry] });
}

/** The part of `pending` that an event answers. */
function answerOf(signal: Signal): string | null {
  if (signal.type === 'ai.tool.result' || signal.type === 'ai.tool.approval_decided')
    return signal.data.call_id;
  if (signal.type === 'agent.child.exit') return `child:${signal.data.tag}`;
  return signal.type === 'ai.request.input' ? 'input' : null;
}

function heardOf(signal: Signal): string {
  const { data } = signal;
  const name =
    'call_id' in data ? data.call_id : 'input_id' in data ? data.input_id : 'tag' in data ? data.tag : '';
  const ok = 'result' in data && Object(data.result).ok === false ? ' failed' : '';
  return `${signal.type} ${name}${ok}`;
}

function advance(
  spec: RunSpec,
  document: RunDocument,
  event: Parameters<EngineCore['advance']>[2],
  now: number,
): Transition {
  if (isOver(document)) return only(document);
  if (event.kind === 'clock') return tick(spec, document, now);
  const { signal } = event;
  const state = inner(document);
  const heard = { ...document, inner: { ...state, heard: [...state.heard, heardOf(signal)] } };
  if (signal.type === 'ai.request.cancel_requested') return end(spec, heard, 'cancelled', 'cancelled');
  const place = state.pending.indexOf(answerOf(signal) ?? '');
  if (place < 0)
    return only(signal.type === 'ai.request.input' ? { ...heard, inputs: document.inputs + 1 } : heard);
  const pending = state.pending.filter((_, index) => index !== place);
  return proceed(spec, waitingFor(heard, pending), now);
}

function tick(spec: RunSpec, document: RunDocument, now: number): Transition {
  const state = inner(document);
  if (state.deadline <= now) return end(spec, document, 'timeout', 'deadline');
  if (state.due === null || state.due > now) return only(document);
  const data = { timer_id: `t${state.step}`, message: null, metadata: {} };
  const fired = waitingFor(document, [], { due: null, heard: [...state.heard, `timer t${state.step}`] });
  const next = proceed(spec, fired, now);
  return { ...next, signals: [{ type: 'agent.scheduled', data }, ...next.signals] };
}

function acknowledge(
  spec: RunSpec,
  document: RunDocument,
  entryId: string,
  failure: string | null,
  now: number,
): Transition {
  const state = inner(document);
  const done = { ...document, outbox: document.outbox.filter(({ id }) => id !== entryId) };
  if (failure === null) return only(done);
  const pending = state.pending.filter((name) => name !== `child:${entryId.replace('child.', 'c')}`);
  const heard = [...state.heard, `${entryId}: ${failure}`];
  const told = { ...done, inner: { ...state, heard, pending } };
  return isOver(told) ? only(told) : proceed(spec, told, now);
}

function end(spec: RunSpec, document: RunDocument, status: RunStatus, reason: string): Transition {
  const { request_id, run_id, conversation_id, parent } = spec;
  const { heard } = inner(document);
  const signal =
    status === 'completed'
      ? { type: 'ai.request.completed', data: { request_id, result: heard, run_id } }
      : { type: 'ai.request.failed', data: { request_id, error: { type: reason }, run_id } };
  const outbox = [
    ...document.outbox,
    { id: 'end.cancel', kind: 'cancel_directives' as const, directive_ids: inner(document).pending, reason },
  ];
  const messages = [...spec.messages, { role: 'assistant', content: reason }];
  if (conversation_id !== null)
    outbox.push({ id: 'end.conversation', kind: 'end_conversation', conversation_id, messages } as never);
  if (parent) {
    const data = { tag: parent.tag, child_request_id: request_id, status, result: heard, error: null };
    const exit = { type: 'agent.child.exit', data };
    outbox.push({
      id: 'end.parent',
      kind: 'signal_run',
      request_id: parent.request_id,
      signal: exit,
    } as never);
  }
  const state = { ...inner(document), pending: [], reason };
  return { ...only({ ...document, status, outbox, wake_at: null, inner: state }), signals: [signal] };
}

function viewOf(spec: RunSpec, document: RunDocument): ReturnType<EngineCore['view']> {
  const { pending, heard } = inner(document);
  const asked = pending.filter((name) => name.startsWith('ask'));
  return {
    run_id: spec.run_id,
    agent: spec.agent,
    strategy: 'scripted',
    status: document.status,
    conversation_id: spec.conversation_id,
    query: spec.query,
    iterations: 0,
    tool_calls: 0,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    cost: null,
    result: heard,
    error: null,
    termination_reason: (document.inner['reason'] as string | undefined) ?? null,
    waiting_for: asked.map((id) => ({ kind: 'approval', id })),
    messages: spec.messages as never,
    children: [],
    started_at: null,
    deadline_at: null,
  };
}
