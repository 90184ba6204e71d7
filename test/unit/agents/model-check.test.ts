/** Every order, loss, repeat and failure of results in small runs: none waits for ever, each ends once.
 *  It must not sample: it walks the whole graph of states. */
import { describe, expect, test } from 'vitest';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import type { Message } from '../../../src/contract/model/message.ts';
import { answerCalls } from '../../../src/agents/core/history.ts';
import { stateOf } from '../../../src/agents/core/run-state.ts';
import { createWorld, keyOf, type Point, type WorldOptions } from './world.ts';

const TERMINAL = new Set(['completed', 'failed', 'cancelled', 'timeout']);
const MISSING = errorEnvelope('cancelled', '');

interface Walk {
  points: number;
  ends: Map<string, number>;
  /** Histories of runs without disturbances and denials. */
  orderly: Set<string>;
}

/** Walks through every reachable state, and checks each. */
function walk(options: WorldOptions): Walk {
  const world = createWorld(options);
  const seen = new Set<string>();
  const found: Walk = { points: 0, ends: new Map(), orderly: new Set() };
  const stack: { point: Point; path: readonly string[] }[] = [{ point: world.first(), path: [] }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { point, path } = at;
    const key = keyOf(point);
    if (seen.has(key)) continue;
    seen.add(key);
    inspect(point, path);
    note(found, point, path);
    if (isOver(point)) continue;
    expectToEndByTheClock(world, point, path);
    for (const { name, next } of world.moves(point)) stack.push({ point: next, path: [...path, name] });
  }
  found.points = seen.size;
  return found;
}

function isOver(point: Point): boolean {
  return TERMINAL.has(point.document.status);
}

function inspect(point: Point, path: readonly string[]): void {
  const { document, started, ended } = point;
  const where = path.join(' → ');
  const state = stateOf(document);
  if (started !== 1) throw new Error(`started ${started} times: ${where}`);
  if (ended !== (isOver(point) ? 1 : 0))
    throw new Error(`ended ${ended} times, ${document.status}: ${where}`);
  if (isOver(point)) return inspectEnd(point, where);
  const onTheWay = new Set([...point.flying, ...point.lost]);
  const unknown = Object.keys(state.open).filter((id) => !onTheWay.has(id));
  if (unknown.length > 0) throw new Error(`waits for what was never asked: ${unknown.join()}: ${where}`);
  if (document.wake_at === null || document.wake_at <= point.now) throw new Error(`would not wake: ${where}`);
  const waits =
    Object.keys(state.open).length +
    Object.keys(state.held).length +
    (state.question ? 1 : 0) +
    state.children.filter(({ status }) => status === 'starting' || status === 'running').length;
  if (waits === 0) throw new Error(`waits for nothing: ${where}`);
}

function inspectEnd({ document, flying }: Point, where: string): void {
  const state = stateOf(document);
  const messages = state.messages as readonly Message[];
  if (answerCalls(messages, MISSING) !== messages) throw new Error(`a call without an answer: ${where}`);
  if (document.wake_at !== null) throw new Error(`would wake after its end: ${where}`);
  if (state.termination_reason === 'stalled') throw new Error(`stalled: ${where}`);
  const ids = document.outbox.flatMap((entry) => ('directive_ids' in entry ? entry.directive_ids : []));
  if (new Set(ids).size < ids.length) throw new Error(`cancelled twice: ${where}`);
  const left = flying.filter((id) => !ids.includes(id));
  if (left.length > 0) throw new Error(`left ${left.join()} running: ${where}`);
}

/** When nothing more arrives, the clock alone must end the run soon. */
function expectToEndByTheClock(
  world: ReturnType<typeof createWorld>,
  from: Point,
  path: readonly string[],
): void {
  let point = from;
  for (let turns = 0; turns < 12 && !isOver(point); turns += 1) {
    const tick = world.moves({ ...point, disturbed: Infinity }).find(({ name }) => name === 'clock');
    if (!tick) throw new Error(`no clock: ${path.join(' → ')}`);
    point = tick.next;
  }
  if (!isOver(point)) throw new Error(`never ends: ${path.join(' → ')}`);
}

function note(found: Walk, point: Point, path: readonly string[]): void {
  if (!isOver(point)) return;
  const { termination_reason, messages } = stateOf(point.document);
  const reason = `${point.document.status} ${termination_reason}`;
  found.ends.set(reason, (found.ends.get(reason) ?? 0) + 1);
  const refused = path.some((name) => /^(deny|clock|child failed|start .*no such agent)/.test(name));
  const undisturbed = point.disturbed === 0 && !refused;
  if (undisturbed) found.orderly.add(JSON.stringify(messages));
}

const TWO = ['math.add', 'fs.list'];

describe('two tools, three iterations', () => {
  test('all orders, with up to four losses, repeats, failures, inputs, cancellations', () => {
    const { points, ends, orderly } = walk({ agent: {}, rounds: [TWO, TWO], disturbances: 4 });
    expect([...ends.keys()].toSorted()).toEqual([
      'cancelled cancelled',
      'completed deadline_exceeded',
      'completed final_answer',
      'failed worker_lost',
      'timeout deadline_exceeded',
    ]);
    expect(orderly.size).toBe(1);
    expect(points).toBeGreaterThan(1_000);
  });

  test('one call at a time', () => {
    const agent = { limits: { parallel_tool_calls: 1 } };
    const { orderly, ends } = walk({ agent, rounds: [TWO, TWO], disturbances: 2 });
    expect(orderly.size).toBe(1);
    expect(ends.size).toBe(5);
  });

  test('with approvals: approved, denied, never decided, late', () => {
    const agent = { policies: { approval_timeout_ms: 1_000 } };
    const rounds = [
      ['fs.remove', 'math.add'],
      ['fs.remove', 'unknown.tool'],
    ];
    const { orderly, ends } = walk({ agent, rounds, disturbances: 1 });
    expect(orderly.size).toBe(1);
    expect([...ends.keys()]).toContain('failed approval_expired');
    expect(ends.size).toBe(6);
  });

  test('with budgets that need approval', () => {
    const agent = {
      limits: { max_tool_calls: 1, max_iterations: 2, parallel_tool_calls: 1 },
      policies: { budget: 'ask' as const, approval_timeout_ms: 1_000 },
    };
    const { orderly, ends } = walk({ agent, rounds: [TWO, ['math.add', 'fs.remove']], disturbances: 1 });
    expect(orderly.size).toBe(1);
    expect([...ends.keys()].toSorted()).toEqual([
      'cancelled cancelled',
      'completed deadline_exceeded',
      'completed final_answer',
      'completed max_iterations',
      'failed approval_expired',
      'failed max_tool_calls',
      'failed worker_lost',
      'timeout deadline_exceeded',
    ]);
  });

  test('with budgets that end the run', () => {
    const agent = { limits: { max_tool_calls: 3, max_iterations: 2 } };
    const { ends } = walk({ agent, rounds: [TWO, TWO], disturbances: 2 });
    expect([...ends.keys()]).toContain('failed max_tool_calls');
    expect([...ends.keys()]).not.toContain('completed final_answer');
  });

  test('a tool stops its round', () => {
    const agent = { limits: { parallel_tool_calls: 1 } };
    const effects = [{ type: 'stop_processing', params: {} }];
    const rounds = [['math.add', 'fs.remove', 'fs.list'], TWO];
    expect(walk({ agent, rounds, effects, disturbances: 2 }).orderly.size).toBe(1);
  });

  test('a tool delegates to other agents', () => {
    const effects = [
      { type: 'pipeline', params: { stages: ['a', 'b'], task: 't' } },
      { type: 'delegate', params: { target: 'c', task: 't' } },
    ];
    const { orderly } = walk({ agent: {}, rounds: [TWO, TWO], effects, disturbances: 1 });
    expect(orderly.size).toBe(1);
  });
});
