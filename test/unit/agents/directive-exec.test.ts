/** Agent directives and custom directive types: the DirectiveExec protocol, error policies, overflow.
 *  It must not use a strategy that does more than issue what the test gives it. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { defineDirective } from '../../../src/agents/core/directive-exec.ts';
import {
  defineStrategy,
  type Step,
  type StrategyDirective,
} from '../../../src/agents/strategies/strategy.ts';
import { runSignal } from '../../../src/agents/run-signal.ts';
import type { EmittedSignal } from '../../../src/agents/turn/transition.ts';
import { Simulation, type SimulationOptions, T0 } from './simulation.ts';

type Script = Record<string, Partial<Step<unknown>>>;

/** Answers each signal type as the script says, `start` also with a model call. */
function scripted(script: Script) {
  return defineStrategy({
    name: 'scripted',
    init: () => ({ seen: [] as string[] }),
    reduce(state, signal) {
      const name = signal.type === 'ai.request.started' ? 'start' : signal.type;
      return { state: { seen: [...state.seen, signal.type] }, ...(script[name] as object) };
    },
  });
}

const MODEL = { type: 'llm_generate', id: 'm' } as const;

function scriptedRun(script: Script, options: SimulationOptions = {}): Simulation {
  const core = { ...options.core, strategies: [scripted(script)] };
  return new Simulation({ ...options, agent: { strategy: 'scripted', ...options.agent }, core });
}

function start(
  directives: StrategyDirective[],
  options: SimulationOptions & { later?: Script } = {},
): Simulation {
  return scriptedRun({ start: { directives: [...directives, MODEL] }, ...options.later }, options);
}

function subjectOf(signal: EmittedSignal): unknown {
  const origin = { requestId: 'r1', cause: 'c', traceparent: '00', now: T0 };
  return (runSignal(signal, origin) as { subject: unknown }).subject;
}

describe('core directives (upstream: directive_exec)', () => {
  test('Emit: the signal is in the log', () => {
    const run = start([{ type: 'emit', signal: { type: 'shop.sold', data: { n: 1 }, source: '/shop' } }]);
    expect(run.log[1]).toEqual({ type: 'shop.sold', data: { n: 1 }, source: '/shop' });
    expect(run.ids()).toEqual(['m']);
  });

  test('Emit: a subject arrives; an invalid one is refused, and the service’s own signals are about the request', () => {
    const run = start([
      { type: 'emit', signal: { type: 'shop.sold', subject: 'order-7' } },
      { type: 'emit', signal: { type: 'shop.sold' } },
    ]);
    const written = run.log.slice(1).map((signal) => subjectOf(signal));
    expect(written).toEqual(['order-7', 'r1']);
    expect(subjectOf({ type: 'agent.error', subject: 'order-7', data: {} })).toBe('r1');
    const signals = [{ type: 'shop.sold', subject: 'a b', data: {} }];
    const odd = scriptedRun({ start: { signals, directives: [MODEL] } });
    expect(odd.signalsOf('directive.ignored')).toMatchObject([{ reason: 'invalid_subject' }]);
  });

  test.each([
    ['a line', { type: 'x\nevent: ai.request.completed', data: {} }, 'invalid_type'],
    ['a carriage return', { type: 'x\ry', data: {} }, 'invalid_type'],
    ['a line separator', { type: 'x\u2028y', data: {} }, 'invalid_type'],
    ['an escape', { type: 'x\u001b[2J', data: {} }, 'invalid_type'],
    ['the end of a stream', { type: 'adjutant.end', data: {} }, 'reserved_type'],
    ['no name', { type: 7, data: {} }, 'invalid_type'],
    ['a source of two lines', { type: 'x', source: 'a\nb', data: {} }, 'invalid_source'],
    ['a cause of two lines', { type: 'x', cause: 'a\nb', data: {} }, 'invalid_cause'],
    ['no data', { type: 'x' }, 'invalid_data'],
  ])('a signal with %s is refused, from a step and from emit', (_name, signal, reason) => {
    const said = scriptedRun({ start: { signals: [signal as never], directives: [MODEL] } });
    expect(said.types()).toEqual(['ai.request.started', 'directive.ignored']);
    expect(said.signalsOf('directive.ignored')).toMatchObject([{ directive_type: 'emit', reason }]);
    if ('cause' in signal || typeof signal.type !== 'string' || !('data' in signal)) return;
    const emitted = start([{ type: 'emit', signal }]);
    expect(emitted.signalsOf('directive.ignored')).toMatchObject([{ reason }]);
  });

  test.each(['ai.request.completed', 'agent.error', 'directive.result', 'ai', 'AI.usage', 'adjutant.end'])(
    'Emit: %s is the service’s own and ignored',
    (type) => {
      const run = start([{ type: 'emit', signal: { type } }]);
      expect(run.types()).toEqual(['ai.request.started', 'directive.ignored']);
      expect(run.log[1]?.data).toMatchObject({ directive_type: 'emit', reason: 'reserved_type' });
    },
  );

  test('Schedule: fires at the turn that is due, in order of time, once, after a restart too', () => {
    const run = start([
      { type: 'schedule', delay_ms: 200, message: 'later' },
      { type: 'schedule', delay_ms: 100, message: { n: 1 } },
    ]);
    expect(run.document.wake_at).toBe(T0 + 100);
    expect(run.view.waiting_for.slice(1)).toMatchObject([
      { kind: 'timer', id: 'timer-1' },
      { kind: 'timer', id: 'timer-2' },
    ]);
    run.document = JSON.parse(JSON.stringify(run.document)) as typeof run.document;
    run.pass(99);
    expect(run.signalsOf('agent.scheduled')).toEqual([]);
    // To the millisecond.
    run.pass(101).pass(0);
    expect(run.signalsOf('agent.scheduled')).toMatchObject([
      { timer_id: 'timer-2', message: { n: 1 } },
      { timer_id: 'timer-1', message: 'later' },
    ]);
    expect(run.state.strategy).toMatchObject({
      seen: ['ai.request.started', 'agent.scheduled', 'agent.scheduled'],
    });
    run.pass(1_000);
    expect(run.signalsOf('agent.scheduled')).toHaveLength(2);
  });

  test('Cancel: another request is cancelled through the outbox, its own run at once', () => {
    const run = start([{ type: 'cancel', request_id: 'other' }]);
    expect(run.outbox).toMatchObject([{ kind: 'cancel_request', request_id: 'other' }]);
    expect(run.status).toBe('running');
    expect(start([{ type: 'cancel', request_id: 'r1' }]).status).toBe('cancelled');
  });

  test('Stop: ends at once, drops what follows, orphans what is open, runs no hook', () => {
    const closed: string[] = [];
    const strategy = {
      ...scripted({
        start: { directives: [MODEL] },
        'ai.llm.response': {
          directives: [
            { type: 'emit', signal: { type: 'a.before' } },
            { type: 'stop', reason: 'broken' },
            { type: 'emit', signal: { type: 'a.after' } },
            { type: 'tool_exec', id: 't', tool_name: 'math.add' },
          ],
        },
      }),
      close: () => {
        closed.push('hook');
        return [];
      },
    };
    const run = new Simulation({ agent: { strategy: 'scripted' }, core: { strategies: [strategy] } });
    run.model('m', { text: 'x' });
    expect(run.types()).toEqual(['ai.request.started', 'a.before', 'ai.request.failed']);
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'stopped' });
    expect(run.view.error).toMatchObject({ type: 'stopped', details: { reason: 'broken' } });
    expect(run.ids()).toEqual(['m']);
    expect(closed).toEqual([]);
    expect(run.logged.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  test('Stop: work that has not begun is withdrawn; signals of the rest change nothing', () => {
    const run = start([{ type: 'schedule', delay_ms: 10, message: null }], {
      later: { 'agent.scheduled': { directives: [{ type: 'stop', reason: 'broken' }] } },
    });
    run.pass(10);
    expect(run.status).toBe('failed');
    expect(run.outbox).toMatchObject([
      { id: 'end:withdraw', kind: 'withdraw_directives', directive_ids: ['m'] },
    ]);
    const ended = run.document;
    run.model('m', { text: 'late' });
    expect(run.document).toBe(ended);
  });

  test.each(['normal', 'completed', 'ok', 'done', 'success', undefined])(
    'Stop: the reason %s causes a warning; the default is normal',
    (reason) => {
      const run = start([{ type: 'stop', ...(reason && { reason }) }]);
      expect(run.view).toMatchObject({
        status: 'failed',
        error: { details: { reason: reason ?? 'normal' } },
      });
      expect(run.logged).toMatchObject([{ level: 'warn', details: { reason: reason ?? 'normal' } }]);
    },
  );

  test('an unknown type is recorded, and the agent goes on', () => {
    const run = start([
      { type: 'teleport', id: 'x1' },
      { type: 'teleport', id: '' },
    ]);
    const metadata = { request_id: 'r1', run_id: 'run-1', iteration: 0, strategy: 'scripted' };
    expect(run.signalsOf('directive.ignored')).toEqual([
      { call_id: 'x1', directive_type: 'teleport', reason: 'unknown_type', metadata },
      { call_id: 'ignored-2', directive_type: 'teleport', reason: 'unknown_type', metadata },
    ]);
    expect(run.ids()).toEqual(['m']);
    expect(run.logged).toHaveLength(2);
  });

  test.each(['toString', 'constructor', '__proto__'])('%s is an unknown type too', (type) => {
    expect(start([{ type }]).signalsOf('directive.ignored')).toHaveLength(1);
  });

  test('emit_request_error is written and awaits no answer', () => {
    const run = start([{ type: 'emit_request_error', id: 'e', reason: 'odd', message: 'm' }]);
    expect(run.directive('e')).toMatchObject({ type: 'emit_request_error', request_id: 'r1', reason: 'odd' });
    expect(Object.keys(run.state.open)).toEqual(['m']);
  });
});

describe('children (upstream: hierarchy, stop_child)', () => {
  const spawn = { type: 'spawn_agent', agent: 'worker', tag: 'w', input: { n: 1 } } as const;
  const exit = (run: Simulation, status: string): Simulation => {
    const data = { tag: 'w', child_request_id: 'r1.c1', status, result: null, error: null };
    return run.signal('agent.child.exit', data);
  };

  test('SpawnAgent: the child starts under its own id, and its end reaches the strategy', () => {
    const run = start([spawn]);
    const child = { tag: 'w', agent: 'worker', input: { n: 1 }, overrides: {}, depth: 1 };
    expect(run.outbox).toMatchObject([{ kind: 'start_child', child_request_id: 'r1.c1', ...child }]);
    run.acknowledge('child-1');
    expect(run.signalsOf('agent.child.started')).toMatchObject([{ tag: 'w', child_request_id: 'r1.c1' }]);
    expect(run.view.children).toEqual([{ tag: 'w', request_id: 'r1.c1', status: 'running' }]);
    exit(exit(run, 'completed'), 'completed');
    expect(run.view.children[0]?.status).toBe('completed');
    expect(run.state.strategy).toMatchObject({ seen: ['ai.request.started', 'agent.child.exit'] });
    expect(run.state.counters.stale).toBe(1);
  });

  test('SpawnAgent: a child that ends before its start is acknowledged stays ended', () => {
    const run = exit(start([spawn]), 'failed').acknowledge('child-1');
    expect(run.view.children[0]?.status).toBe('failed');
    expect(run.signalsOf('agent.child.started')).toEqual([]);
  });

  test('SpawnAgent: a child that cannot start has exited as failed', () => {
    const run = start([spawn]).acknowledge('child-1', 'there is no agent "worker"');
    expect(run.signalsOf('agent.child.exit')).toMatchObject([
      { tag: 'w', status: 'failed', error: { type: 'spawn_failed' } },
    ]);
    expect(run.state.strategy).toMatchObject({ seen: ['ai.request.started', 'agent.child.exit'] });
  });

  test('SpawnAgent: two living children cannot share a tag, successive ones can', () => {
    const run = start([spawn, spawn], { later: { 'agent.child.exit': { directives: [spawn] } } });
    expect(run.signalsOf('directive.ignored')).toMatchObject([{ reason: 'tag_in_use' }]);
    exit(run, 'failed');
    expect(run.view.children.map(({ request_id }) => request_id)).toEqual(['r1.c1', 'r1.c2']);
  });

  test('SpawnAgent: ids stay valid at any depth, and depth is limited', () => {
    const request_id = 'x'.repeat(128);
    const run = start([spawn], { spec: { request_id } });
    const [entry] = run.outbox;
    expect(entry?.kind === 'start_child' && entry.child_request_id).toMatch(/^c1-[0-9a-f]{40}$/);
    const deep = start([spawn], { spec: { parent: { request_id: 'p', tag: 't', depth: 8 } } });
    expect(deep.signalsOf('directive.ignored')).toMatchObject([{ reason: 'too_deep' }]);
  });

  test('StopChild: a living child is cancelled, an unknown tag is ignored', () => {
    const run = start([
      spawn,
      { type: 'stop_child', tag: 'w', reason: 'enough' },
      { type: 'stop_child', tag: 'nobody' },
    ]);
    expect(run.outbox.slice(1)).toMatchObject([
      { kind: 'cancel_request', request_id: 'r1.c1', reason: 'enough' },
    ]);
    expect(run.signalsOf('directive.ignored')).toEqual([]);
  });

  test('every living child is notified of its parent’s end', () => {
    const run = start([spawn]).cancel();
    const signal = { type: 'agent.parent.exit', data: { parent_request_id: 'r1', reason: 'cancelled' } };
    expect(run.outbox.slice(1)).toMatchObject([
      { id: 'end:cancel', kind: 'cancel_directives', directive_ids: ['m'] },
      { id: 'end:child:r1.c1', kind: 'signal_run', request_id: 'r1.c1', signal },
    ]);
  });

  test('the parent is notified of a child’s end, with its result', () => {
    const run = new Simulation({ spec: { parent: { request_id: 'p', tag: 'w', depth: 1 } } });
    run.model('model-1', { text: 'Five.' });
    const data = { tag: 'w', child_request_id: 'r1', status: 'completed', result: 'Five.', error: null };
    expect(run.outbox).toMatchObject([
      { kind: 'signal_run', request_id: 'p', signal: { type: 'agent.child.exit', data } },
    ]);
  });

  test.each([
    ['stop', 'cancelled', ['ai.request.started'], []],
    ['continue', 'running', ['ai.request.started'], ['cancel_directives', 'signal_run']],
    ['orphan', 'running', ['ai.request.started', 'agent.parent.exit'], ['cancel_directives']],
  ] as const)(
    'parent death: %s leaves the child %s; whom its own end notifies',
    (parent_death, status, seen, notified) => {
      const parent = { request_id: 'p', tag: 'w', depth: 1 };
      const run = start([], { agent: { policies: { parent_death } }, spec: { parent } });
      run.signal('agent.parent.exit', { parent_request_id: 'p', reason: 'cancelled' });
      expect(run.status).toBe(status);
      expect(run.state.strategy).toMatchObject({ seen });
      if (status === 'cancelled') expect(run.view.termination_reason).toBe('parent_exit');
      else expect(run.cancel().outbox.map(({ kind }) => kind)).toEqual(notified);
    },
  );

  test('the end of another run is not the end of the parent', () => {
    const run = new Simulation({ spec: { parent: { request_id: 'p', tag: 'w', depth: 1 } } });
    run.signal('agent.parent.exit', { parent_request_id: 'q', reason: 'x' });
    expect(run.status).toBe('running');
    expect(run.state.counters.stale).toBe(1);
  });
});

// contract.md §1: the retry fields are the same for all work directives.
test('a strategy sets every field of the retries of a call; undefined ones are the agent’s', () => {
  const retries = {
    max_retries: 4,
    retry_backoff_ms: 50,
    backoff: 'exponential',
    max_backoff_ms: 900,
    jitter: 0.5,
    deadline_ms: 70_000,
  } as const;
  const asked = { ...retries, jitter: undefined };
  const run = start(
    [
      { type: 'llm_generate', id: 'l', ...asked },
      { type: 'tool_exec', id: 't', tool_name: 'math.add', ...asked },
      { type: 'llm_embed', id: 'e', texts: 'one', ...asked },
    ],
    { agent: { model_call: { jitter: 0.5 }, tool_call: { jitter: 0.5 } } },
  );
  for (const id of ['l', 't', 'e']) expect(run.directive(id)).toMatchObject(retries);
});

describe('error policies (upstream: error_policy)', () => {
  const ERRORS = [
    { type: 'error', error: 'e1', context: 'c' },
    { type: 'error', error: 'e2' },
  ];
  const failing = (error: 'log' | 'stop' | 'emit' | { max_errors: number }): Simulation =>
    start(ERRORS, { agent: { policies: { error } } });

  test('log: logged and counted, the agent goes on', () => {
    const run = failing('log');
    expect(run.logged).toMatchObject([
      { level: 'error', details: { error: 'e1', context: 'c' } },
      { level: 'error', details: { error: 'e2' } },
    ]);
    expect(run.status).toBe('running');
    expect(run.state.counters.errors).toBe(2);
  });

  // Upstream has no policy under which an error leaves no trace: here the log of the request has each.
  test.each(['log', 'emit', 'stop', { max_errors: 2 }] as const)('%j: each error is a signal', (policy) => {
    const metadata = { request_id: 'r1', run_id: 'run-1', iteration: 0, strategy: 'scripted' };
    const first = { error: 'e1', context: 'c', metadata: { ...metadata, errors: 1 } };
    const second = { error: 'e2', context: null, metadata: { ...metadata, errors: 2 } };
    expect(failing(policy).signalsOf('agent.error')).toEqual(policy === 'stop' ? [first] : [first, second]);
  });

  test('stop: the first ends the run', () => {
    const run = failing('stop');
    const details = { reason: 'agent_error', error: 'e1', context: 'c', errors: 1 };
    expect(run.view.error).toMatchObject({ type: 'stopped', details, retryable: false });
    expect(run.logged).toHaveLength(1);
  });

  test('emit: the agent goes on', () => {
    expect(failing('emit').status).toBe('running');
  });

  test('max_errors: the one that reaches it ends the run', () => {
    expect(failing({ max_errors: 3 }).status).toBe('running');
    expect(failing({ max_errors: 2 }).view.error).toMatchObject({
      details: { reason: 'max_errors_exceeded', error: 'e2', errors: 2, max_errors: 2 },
    });
  });
});

function immediate(exec: unknown, type = 'k') {
  return defineDirective({ mode: 'immediate', type, schema: z.object({}), exec: exec as never });
}

describe('custom directive types', () => {
  const add = defineDirective({
    mode: 'immediate',
    type: 'add',
    schema: z.strictObject({ by: z.number().default(1) }),
    exec: ({ by }, _signal, state) => ({ ok: true, state: { ...state, n: Number(state['n'] ?? 0) + by } }),
  });
  const mail = defineDirective({
    mode: 'queued',
    type: 'send_mail',
    schema: z.strictObject({ to: z.string() }),
    execute: () => Promise.resolve({ result: { ok: true, payload: null, effects: [] } }),
  });

  test('immediate: exec changes the agent’s state, which tools and strategies see', () => {
    const called = { type: 'tool_exec', id: 't', tool_name: 'math.add' };
    const run = start([{ type: 'add', by: 2 }, { type: 'add' }, called], { core: { directives: [add] } });
    expect(run.state.agent_state).toEqual({ n: 3 });
    expect(run.directive('t')['context']).toMatchObject({ state: { n: 3, revision: 2 } });
    expect(run.ids()).toEqual(['t', 'm']);
  });

  test('immediate: exec is given the signal that is read, at the start and of a timer too', () => {
    const seen: unknown[] = [];
    const look = immediate((_directive: unknown, signal: { type: string } | null, state: object) => {
      seen.push(signal?.type ?? null);
      return { ok: true, state };
    }, 'look');
    const run = start([{ type: 'look' }, { type: 'schedule', delay_ms: 10, message: null }], {
      core: { directives: [look] },
      later: { 'agent.scheduled': { directives: [{ type: 'look' }] } },
    });
    run.pass(10);
    expect(seen).toEqual(['ai.request.started', 'agent.scheduled']);
  });

  test('queued: accepted with its own fields, its answer reaches the strategy', () => {
    const run = start([{ type: 'send_mail', id: 'mail', to: 'a@b', metadata: { x: 1 } }], {
      core: { directives: [mail] },
    });
    expect(run.directive('mail')).toEqual({
      type: 'send_mail',
      id: 'mail',
      request_id: 'r1',
      to: 'a@b',
      'adjutant/context': { state: expect.objectContaining({ agent: 'helper', revision: 0 }) },
      metadata: { x: 1, request_id: 'r1', run_id: 'run-1', agent: 'helper' },
    });
    run.signal('directive.result', {
      call_id: 'mail',
      directive_type: 'send_mail',
      result: {},
      metadata: {},
    });
    expect(run.state.strategy).toMatchObject({ seen: ['ai.request.started', 'directive.result'] });
  });

  test('without an id it gets one, each its own', () => {
    const mails = ['a', 'b'].map((to) => ({ type: 'send_mail', to }));
    const run = start(mails, { core: { directives: [mail] } });
    expect(run.ids()).toEqual(['send_mail-1', 'send_mail-2', 'm']);
  });

  test.each([
    ['ok', { ok: true, state: { k: 1 } }, 'running'],
    ['async', { async: true, ref: null, state: { k: 1 } }, 'running'],
    ['stop', { stop: true, reason: 'bad', state: { k: 1 } }, 'failed'],
  ])('exec may answer %s; the state is kept', (_what, answer, status) => {
    const core = { directives: [immediate(() => answer)] };
    const run = start([{ type: 'k' }, { type: 'emit', signal: { type: 'a.b' } }], { core });
    expect(run.status).toBe(status);
    expect(run.state.agent_state).toEqual({ k: 1 });
    expect(run.types().includes('a.b')).toBe(status === 'running');
  });

  test.each([
    ['throws', () => JSON.parse('{'), 'exception'],
    ['answers nothing', () => undefined, 'invalid_result'],
    ['answers without a state', () => ({ ok: true }), 'invalid_result'],
    ['answers a state that is no JSON', () => ({ ok: true, state: { n: 1n } }), 'invalid_result'],
  ])('exec that %s fails its run and nothing else', (_what, exec, type) => {
    const run = start([{ type: 'k' }], { core: { directives: [immediate(exec)] } });
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: type });
  });

  test('fields that the schema refuses fail the run, by path', () => {
    const run = start([{ type: 'add', by: 'x' }], { core: { directives: [add] } });
    expect(run.view).toMatchObject({ termination_reason: 'strategy_error' });
    expect((run.view.error as { message: string }).message).toContain('by ');
  });

  test('a custom type cannot have a name of the service, nor an invalid one', () => {
    for (const type of ['tool_exec', 'emit', 'complete', '', 'a b', '9']) {
      expect(() => immediate(() => ({ ok: true, state: {} }), type), type).toThrow(TypeError);
    }
    expect(() => start([], { core: { directives: [add, add] } })).toThrow('defined twice');
  });
});

describe('overflow', () => {
  const many = [0, 1, 2].map((n) => ({ type: 'tool_exec', id: `t${n}`, tool_name: 'math.add' }) as const);

  test('a batch that would exceed max_pending is refused with its state change, and the run ends', () => {
    const later = { 'agent.scheduled': { directives: many } };
    const timer = { type: 'schedule', delay_ms: 1, message: null } as const;
    const run = start([timer], { agent: { limits: { max_pending: 3 } }, later });
    run.pass(1);
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'queue_overflow' });
    expect(run.state.strategy).toEqual({ seen: ['ai.request.started'] });
    expect(run.ids()).toEqual(['m']);
    expect(run.signalsOf('agent.error')).toMatchObject([{ error: { type: 'queue_overflow' } }]);
    expect(run.outbox).toMatchObject([{ kind: 'cancel_directives', directive_ids: ['m'] }]);
  });

  test('exactly the allowed number is accepted, waiting calls included', () => {
    const limits = { max_pending: 4, parallel_tool_calls: 1 };
    expect(start(many, { agent: { limits } }).status).toBe('running');
  });
});
