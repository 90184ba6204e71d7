/** The environment of a run, small enough to walk completely: pending answers, and what may still go wrong.
 *  It must not know how the core works: it only plays models, tools, people, children and the clock. */
import type { SubmittedAgentDefinition } from '../../../src/contract/run/agent-definition.ts';
import { createCore } from '../../../src/agents/core/core.ts';
import { stateOf } from '../../../src/agents/core/run-state.ts';
import type { JsonObject, RunDocument, RunEvent, Transition } from '../../../src/agents/turn/transition.ts';
import { call, calls, modelAnswer, runSetup, runSpec, signalEvent, T0 } from './simulation.ts';

type Directive = Transition['directives'][number];

export interface WorldOptions {
  agent: Partial<SubmittedAgentDefinition>;
  /** Tools of each round, by name; after the last round the model answers. */
  rounds: readonly (readonly string[])[];
  /** Control directives that the first call of the first round carries. */
  effects?: readonly unknown[];
  /** Faults that may happen on one path: results lost, repeated or failed, inputs, a cancellation, odd decisions. */
  disturbances: number;
}

/** A point of a path. Immutable. */
export interface Point {
  document: RunDocument;
  now: number;
  /** Directives whose answer is still to come. */
  flying: readonly string[];
  /** Directives whose answer never comes. */
  lost: readonly string[];
  /** Answers that have arrived: they may arrive again. */
  answered: readonly string[];
  started: number;
  ended: number;
  accepted: ReadonlyMap<string, Directive>;
  disturbed: number;
  cancelled: boolean;
  spoken: boolean;
}

export interface Move {
  name: string;
  next: Point;
}

const spec = runSpec();
const CHILD_STATES = ['completed', 'failed'] as const;

export function createWorld(options: WorldOptions) {
  const core = createCore();

  function first(): Point {
    const empty = { now: T0, flying: [], lost: [], answered: [], started: 0, ended: 0, disturbed: 0 };
    const nothing = { ...empty, accepted: new Map<string, Directive>(), cancelled: false, spoken: false };
    const begun = core.begin(spec, runSetup(options.agent), T0);
    return after({ ...nothing, document: begun.document }, begun);
  }

  /** Every move that is possible at `point`. */
  function moves(point: Point): Move[] {
    const left = options.disturbances - point.disturbed;
    return [
      ...point.flying.map((id) => move(point, `answer ${id}`, answerOf(point, id), arrived(point, id))),
      ...decisions(point),
      ...children(point),
      ...clock(point),
      ...(left > 0 ? disturbances({ ...point, disturbed: point.disturbed + 1 }) : []),
    ];
  }

  function disturbances(point: Point): Move[] {
    return [
      ...point.flying.map((id) => ({ name: `lose ${id}`, next: lose(point, id) })),
      ...point.flying.map((id) => move(point, `fail ${id}`, failureOf(id), arrived(point, id))),
      ...point.answered.map((id) => move(point, `repeat ${id}`, answerOf(point, id), {})),
      ...(point.cancelled ? [] : [move(point, 'cancel', cancelEvent(), { cancelled: true })]),
      ...(point.spoken ? [] : [move(point, 'say', inputEvent(), { spoken: true })]),
      move(point, 'decide about nothing', decisionEvent('tool-9-9', 'approve'), {}),
    ];
  }

  function decisions(point: Point): Move[] {
    const { held, question } = stateOf(point.document);
    const ids = [...Object.keys(held), ...(question ? [question.id] : [])];
    return ids.flatMap((id) =>
      ['approve', 'deny'].map((decision) =>
        move(point, `${decision} ${id}`, decisionEvent(id, decision), {}),
      ),
    );
  }

  function children(point: Point): Move[] {
    const { children: all } = stateOf(point.document);
    const starts = point.document.outbox.filter(({ kind }) => kind === 'start_child');
    const living = all.filter(({ status }) => status === 'starting' || status === 'running');
    return [
      ...starts.flatMap(({ id }) =>
        [null, 'no such agent'].map((failure) => acknowledge(point, id, failure)),
      ),
      ...living.flatMap(({ tag, request_id }) =>
        CHILD_STATES.map((status) => {
          const data = { tag, child_request_id: request_id, status, result: 'r', error: null };
          return move(point, `child ${status}`, signalEvent('agent.child.exit', data), {});
        }),
      ),
    ];
  }

  function acknowledge(point: Point, entryId: string, failure: string | null): Move {
    const transition = core.acknowledge(spec, point.document, entryId, failure, point.now);
    return { name: `start ${entryId} ${failure ?? ''}`, next: after(point, transition) };
  }

  /** Time passes until something is due. */
  function clock(point: Point): Move[] {
    const { wake_at } = point.document;
    if (wake_at === null) return [];
    const late = { ...point, now: Math.max(point.now, wake_at) };
    return [move(late, 'clock', { kind: 'clock' }, {})];
  }

  function move(point: Point, name: string, event: RunEvent, change: Partial<Point>): Move {
    const transition = core.advance(spec, point.document, event, point.now);
    return { name, next: after({ ...point, ...change }, transition) };
  }

  function after(point: Point, { document, signals, directives }: Transition): Point {
    const ids = directives.map(({ id }) => id);
    const twice = ids.filter((id) => point.accepted.has(id));
    if (twice.length > 0) throw new Error(`accepted twice: ${twice.join(', ')}`);
    const of = (type: string): number => signals.filter((signal) => signal.type === type).length;
    return {
      ...point,
      document,
      flying: [...point.flying, ...ids],
      accepted: new Map([...point.accepted, ...directives.map((one) => [one.id, one] as const)]),
      started: point.started + of('ai.request.started'),
      ended: point.ended + of('ai.request.completed') + of('ai.request.failed'),
    };
  }

  function answerOf(point: Point, id: string): RunEvent {
    const [kind, round = ''] = id.split('-');
    if (kind === 'model') return signalEvent('ai.llm.response', modelAnswer(id, turnOf(Number(round))));
    const directive = point.accepted.get(id) as { type: string; error?: unknown };
    if (directive.type === 'emit_tool_error') return failureOf(id, directive.error);
    const effects = id === 'tool-1-0' ? (options.effects ?? []) : [];
    const result = { ok: true, payload: id, effects };
    return signalEvent('ai.tool.result', { call_id: id, tool_name: 't', result, metadata: {} });
  }

  function turnOf(round: number): JsonObject {
    const usage = { input_tokens: 2, output_tokens: 1, total_tokens: 3 };
    const tools = options.rounds[round - 1];
    if (!tools) return { text: `answer ${round}`, usage };
    return { ...calls(...tools.map((name, n) => call(name, { round, n }, `c${round}${n}`))), usage };
  }

  return { first, moves };
}

const LOST = { type: 'worker_lost', message: 'm', details: {}, retryable: false };

function failureOf(id: string, error: unknown = LOST): RunEvent {
  const data = { call_id: id, result: { ok: false, error, effects: [] }, metadata: {} };
  return id.startsWith('model')
    ? signalEvent('ai.llm.response', data)
    : signalEvent('ai.tool.result', { ...data, tool_name: 't' });
}

function arrived(point: Point, id: string): Partial<Point> {
  return { flying: point.flying.filter((one) => one !== id), answered: [...point.answered, id] };
}

function lose(point: Point, id: string): Point {
  return { ...point, flying: point.flying.filter((one) => one !== id), lost: [...point.lost, id] };
}

function cancelEvent(): RunEvent {
  return signalEvent('ai.request.cancel_requested', { request_id: 'r1', reason: null });
}

function inputEvent(): RunEvent {
  return signalEvent('ai.request.input', { request_id: 'r1', input_id: 'i', content: 'go on' });
}

function decisionEvent(callId: string, decision: string): RunEvent {
  return signalEvent('ai.tool.approval_decided', { call_id: callId, decision });
}

/** Two points of one key have the same future. */
export function keyOf(point: Point): string {
  const { document, now, lost, answered, ended, disturbed, cancelled, spoken } = point;
  const flying = point.flying.map((id) => JSON.stringify(point.accepted.get(id)));
  const sets = [flying.toSorted(), lost.toSorted(), answered.toSorted()];
  return JSON.stringify([document.inner, document.outbox, now, sets, ended, disturbed, cancelled, spoken]);
}
