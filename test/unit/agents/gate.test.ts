/** The gate between a strategy and the execution: parallel calls, approvals, budgets, deadlines.
 *  It must not measure time: the tests set the time. */
import { limitsOf } from '../../../src/agents/overrides.ts';
import { describe, expect, test } from 'vitest';
import { estimateTokens } from '../../../src/agents/core/token-estimate.ts';
import { callModel, defineStrategy } from '../../../src/agents/strategies/strategy.ts';
import { call, calls, Simulation, T0, tool } from './simulation.ts';

const USAGE = { input_tokens: 40, output_tokens: 20, total_tokens: 60 };
const iso = (at: number): string => new Date(at).toISOString();

describe('tool calls at once', () => {
  test('no more than the limit are open; the rest starts in order as others end', () => {
    const run = new Simulation({ agent: { limits: { parallel_tool_calls: 2 } } });
    run.model('model-1', calls(...[1, 2, 3, 4, 5].map((n) => call('math.add', { n }, `c${n}`))));
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1']);
    expect(run.view.waiting_for.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      'tool tool-1-0',
      'tool tool-1-1',
      'turn tool-1-2',
      'turn tool-1-3',
      'turn tool-1-4',
    ]);
    run.tool('tool-1-1', 2);
    expect(run.ids().at(-1)).toBe('tool-1-2');
    run.tool('tool-1-0', 1).tool('tool-1-2', 3);
    expect(run.ids().slice(-2)).toEqual(['tool-1-3', 'tool-1-4']);
    run.tool('tool-1-4', 5).tool('tool-1-3', 4);
    const answered = run.messages.slice(2).map(({ tool_call_id }) => tool_call_id);
    expect(answered).toEqual(['c1', 'c2', 'c3', 'c4', 'c5']);
  });

  test('errors that are answered at once do not count', () => {
    const run = new Simulation({ agent: { limits: { parallel_tool_calls: 1 } } });
    run.model('model-1', calls(call('nope', {}, 'a'), call('math.add', {}, 'b')));
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1']);
  });
});

describe('approvals', () => {
  const asking = (more = {}): Simulation => {
    const run = new Simulation({ agent: { policies: { approval_timeout_ms: 1_000, ...more } } });
    return run.model(
      'model-1',
      calls(call('fs.remove', { path: '/a', password: 'p' }, 'x'), call('fs.list', {}, 'y')),
    );
  };

  test('a tool annotated as destructive needs approval; other calls do not wait for it', () => {
    const run = asking();
    expect(run.ids()).toEqual(['model-1', 'tool-1-1']);
    expect(run.signalsOf('ai.tool.approval_requested')).toEqual([
      {
        call_id: 'tool-1-0',
        tool_name: 'fs.remove',
        arguments: { path: '/a', password: '[REDACTED]' },
        deadline_at: iso(T0 + 1_000),
        metadata: { request_id: 'r1', run_id: 'run-1', iteration: 1, strategy: 'react', agent: 'helper' },
      },
    ]);
    expect(run.status).toBe('running');
    run.tool('tool-1-1', 1);
    expect(run.status).toBe('waiting');
    expect(run.document.wake_at).toBe(T0 + 1_000);
    expect(run.view.waiting_for).toEqual([
      { kind: 'approval', id: 'tool-1-0', name: 'fs.remove', until: iso(T0 + 1_000) },
    ]);
  });

  test('an approved call is made', () => {
    const run = asking().decide('tool-1-0', 'approve');
    const made = { type: 'tool_exec', arguments: { path: '/a', password: 'p' } };
    expect(run.directive('tool-1-0')).toMatchObject(made);
    run.tool('tool-1-0', 1).tool('tool-1-1', 1).model('model-2', { text: 'ok' });
    expect(run.status).toBe('completed');
  });

  test('it is made with the arguments of the decision, and the result shows that', () => {
    const run = asking().decide('tool-1-0', 'approve', { arguments: { path: '/b' } });
    const made = { arguments: { path: '/b' }, metadata: { arguments_edited: true } };
    expect(run.directive('tool-1-0')).toMatchObject(made);
  });

  test('a denied call is a tool error that the model reads, with the reason', () => {
    const run = asking().decide('tool-1-0', 'deny', { reason: 'too dangerous' });
    expect(run.directive('tool-1-0')).toMatchObject({
      type: 'emit_tool_error',
      error: { type: 'denied', message: 'Tool `fs.remove` was denied: too dangerous' },
    });
    run.emitted('tool-1-0').tool('tool-1-1', 1);
    expect(run.messages[2]?.['content']).toContain('too dangerous');
    expect(run.ids().at(-1)).toBe('model-2');
  });

  test('a second and a foreign decision change nothing and are counted', () => {
    const run = asking()
      .decide('tool-1-0', 'approve')
      .decide('tool-1-0', 'deny')
      .decide('tool-9-9', 'approve');
    expect(run.state.counters.late_decisions).toBe(2);
    expect(run.ids().filter((id) => id === 'tool-1-0')).toHaveLength(1);
  });

  test('without a decision in time the run fails and says so, and a late one changes nothing', () => {
    const run = asking().tool('tool-1-1', 1).pass(999);
    expect(run.status).toBe('waiting');
    run.pass(1);
    const undecided = {
      status: 'failed',
      termination_reason: 'approval_expired',
      error: { type: 'approval_expired', details: { call_id: 'tool-1-0', approval_timeout_ms: 1_000 } },
    };
    expect(run.view).toMatchObject(undecided);
    run.decide('tool-1-0', 'approve');
    expect(run.view).toMatchObject(undecided);
    expect(run.ids()).not.toContain('tool-1-0');
  });

  test('the wait for a decision is a day by default, and the deadline of the run does not pass meanwhile', () => {
    const hour = 3_600_000;
    const run = new Simulation();
    run.model('model-1', calls(call('fs.remove', {}, 'x')));
    expect(run.view.waiting_for).toEqual([
      { kind: 'approval', id: 'tool-1-0', name: 'fs.remove', until: iso(T0 + 24 * hour) },
    ]);
    run.pass(20 * hour);
    expect(run.status).toBe('waiting');
    run.decide('tool-1-0', 'approve');
    expect(run.document.wake_at).toBe(T0 + 21 * hour);
    run.pass(hour);
    expect(run.view).toMatchObject({ status: 'timeout', termination_reason: 'deadline_exceeded' });
  });

  test('the longest pattern of the policies wins, and deny needs no decision', () => {
    const run = new Simulation({
      agent: { policies: { approvals: { '*': 'ask', 'fs.*': 'deny', 'fs.list': 'auto' } } },
    });
    run.model(
      'model-1',
      calls(call('fs.list', {}, 'a'), call('fs.remove', {}, 'b'), call('math.add', {}, 'c')),
    );
    expect(run.directive('tool-1-0')['type']).toBe('tool_exec');
    expect(run.directive('tool-1-1')).toMatchObject({ type: 'emit_tool_error', error: { type: 'denied' } });
    expect(run.view.waiting_for.find(({ kind }) => kind === 'approval')?.id).toBe('tool-1-2');
  });

  test('of two equally long patterns the stricter wins', () => {
    const approvals = { 'fs.*': 'auto', '*list': 'deny' } as const;
    const run = new Simulation({ agent: { policies: { approvals } }, tools: [tool('fs.list')] });
    run.model('model-1', calls(call('fs.list')));
    expect(run.directive('tool-1-0')).toMatchObject({ error: { type: 'denied' } });
  });

  test.each([
    ['no annotations', undefined],
    ['nothing about destruction', { title: 'x' }],
    ['destructive but read-only', { destructiveHint: true, readOnlyHint: true }],
    ['not destructive', { destructiveHint: false }],
  ])('a tool with %s is called at once', (_what, annotations) => {
    const run = new Simulation({ tools: [tool('a.b', annotations)] }).model('model-1', calls(call('a.b')));
    expect(run.directive('tool-1-0')['type']).toBe('tool_exec');
  });

  test.each([
    ['narrow', { '*': 'auto' }, 'fs.remove', 'waits'],
    ['narrow', { 'fs.list': 'auto' }, 'fs.list', 'emit_tool_error'],
    ['narrow', { 'math.*': 'ask' }, 'math.add', 'waits'],
    ['narrow', { '*': 'deny', 'math.add': 'auto' }, 'math.add', 'tool_exec'],
    ['any', { 'fs.remove': 'auto' }, 'fs.remove', 'tool_exec'],
    ['any', { 'fs.list': 'auto' }, 'fs.list', 'tool_exec'],
  ] as const)(
    'where the agent lets runs be %s, approvals %j make a call of %s %s',
    (overrides, approvals, name, what) => {
      const agent = { policies: { overrides, approvals: { 'fs.list': 'deny' as const } } };
      const run = new Simulation({ agent, spec: { overrides: { approvals } } });
      run.model('model-1', calls(call(name)));
      const waits = run.view.waiting_for.some(({ kind }) => kind === 'approval');
      expect(waits ? 'waits' : run.directive('tool-1-0')['type']).toBe(what);
    },
  );

  test.each([
    ['narrow', { max_iterations: 5, max_cost: null }, { max_iterations: 2, max_cost: 1 }],
    ['narrow', { max_iterations: 1, max_tool_calls: 3 }, { max_iterations: 1, max_tool_calls: 3 }],
    ['any', { max_iterations: 5, max_cost: null }, { max_iterations: 5, max_cost: null }],
  ] as const)('where the agent lets runs be %s, limits %j leave %j', (overrides, limits, left) => {
    const agent = { limits: { max_iterations: 2, max_cost: 1 }, policies: { overrides } };
    const { setup, spec } = new Simulation({ agent, spec: { overrides: { limits } } });
    expect(limitsOf(setup.agent, spec.overrides)).toMatchObject(left);
  });
});

describe('budgets', () => {
  test('tool calls: the call above the limit ends the run, and open calls are cancelled', () => {
    const run = new Simulation({ agent: { limits: { max_tool_calls: 2 } } });
    run.model('model-1', calls(...[1, 2, 3].map((n) => call('math.add', { n }, `c${n}`))));
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'max_tool_calls' });
    expect(run.view.error).toMatchObject({ type: 'budget_exceeded', details: { limit: 'max_tool_calls' } });
    const cancelled = { kind: 'cancel_directives', directive_ids: ['tool-1-0', 'tool-1-1'] };
    expect(run.outbox).toMatchObject([cancelled]);
    expect(run.messages.filter(({ role }) => role === 'tool')).toHaveLength(3);
  });

  test('tokens: an answer is kept within what is left, and a call without enough tokens left is not made', () => {
    const run = new Simulation({ agent: { limits: { max_tokens: 200 } } });
    const first = run.directive('model-1');
    expect(first['max_tokens']).toBeLessThan(200);
    expect(first['max_tokens']).toBeGreaterThan(150);
    run
      .model('model-1', { ...calls(call('math.add')), usage: { ...USAGE, total_tokens: 150 } })
      .tool('tool-1-0', 1);
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'max_tokens' });
    expect(run.view.usage.total_tokens).toBe(150);
  });

  test('tokens: tokens reserved for a call are not given to another, and are released when it reports less', () => {
    const run = new Simulation({ agent: { limits: { max_tokens: 10_000 }, max_tokens: 9_000 } });
    expect(run.state.open['model-1']?.tokens).toBeGreaterThan(9_000);
    run.model('model-1', { ...calls(call('math.add')), usage: USAGE }).tool('tool-1-0', 1);
    expect(run.directive('model-2')['max_tokens']).toBe(9_000);
  });

  test('cost: a call that would exceed it is not made', () => {
    const run = new Simulation({ agent: { limits: { max_cost: 0.5 } } });
    run
      .model('model-1', { ...calls(call('math.add')), usage: USAGE }, { metadata: { cost: 0.5 } })
      .tool('tool-1-0', 1);
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'max_cost', cost: 0.5 });
  });

  test('cost: without a known price the budget cannot be kept, so nothing more is spent', () => {
    const run = new Simulation({ agent: { limits: { max_cost: 0.5 } } });
    run.model('model-1', { ...calls(call('math.add')), usage: USAGE }).tool('tool-1-0', 1);
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'max_cost', cost: null });
  });

  test('tokens: the budget may be used up to the last one', () => {
    const estimate = estimateTokens([{ role: 'user', content: 'What is 2+3?' }]);
    const exact = (max_tokens: number): Simulation => new Simulation({ agent: { limits: { max_tokens } } });
    expect(exact(estimate + 64).directive('model-1')['max_tokens']).toBe(64);
    expect(exact(estimate + 63).view.termination_reason).toBe('max_tokens');
  });

  test('tokens: the system prompt counts, too', () => {
    const limits = { max_tokens: 1_000 };
    const left = (system_prompt: string): number =>
      Number(new Simulation({ agent: { limits, system_prompt } }).directive('model-1')['max_tokens']);
    expect(left('') - left('x'.repeat(400))).toBe(100);
  });

  const pair = defineStrategy({
    name: 'pair',
    init: () => 0,
    reduce: (n: number, _signal, context) => ({
      state: n + 1,
      directives: [callModel(context, `a${n}`), callModel(context, `b${n}`)],
    }),
  });
  const parallel = (limits: Record<string, number>): Simulation =>
    new Simulation({ agent: { strategy: 'pair', max_tokens: 500, limits }, core: { strategies: [pair] } });

  test('tokens: two calls at once share what is left', () => {
    const run = parallel({ max_tokens: 900 });
    expect(run.directive('a0')['max_tokens']).toBe(500);
    expect(run.directive('b0')['max_tokens']).toBeLessThan(400);
    expect(parallel({ max_tokens: 540 }).view.termination_reason).toBe('max_tokens');
  });

  test('cost: a call under way is expected to cost as much as earlier calls', () => {
    const answered = (max_cost: number): Simulation =>
      parallel({ max_cost }).model('a0', { text: 'x', usage: USAGE }, { metadata: { cost: 1 } });
    expect(answered(2).view.termination_reason).toBe('max_cost');
    expect(answered(2.1).ids()).toEqual(['a0', 'b0', 'a1']);
    expect(answered(3.1).ids()).toEqual(['a0', 'b0', 'a1', 'b1']);
  });

  test.each([-1, Number.NaN, 'much'])('a cost of %s is ignored', (cost) => {
    const run = new Simulation().model('model-1', { text: 'x', usage: USAGE }, { metadata: { cost } });
    expect(run.view.cost).toBeNull();
  });

  test('a failed call has used what it reports', () => {
    const error = { type: 'timeout', message: 'm', details: {}, retryable: true };
    const result = { ok: false, error, effects: [] };
    const data = { call_id: 'model-1', result, metadata: { usage_so_far: USAGE } };
    const run = new Simulation().signal('ai.llm.response', data);
    expect(run.view).toMatchObject({ usage: USAGE, cost: 0, status: 'failed' });
  });

  test('retries of a directive are one call', () => {
    const run = new Simulation({ agent: { limits: { max_tool_calls: 1 } } });
    run.model('model-1', calls(call('math.add')));
    run.signal('directive.retry_scheduled', { call_id: 'tool-1-0', failures: 1 });
    run.tool('tool-1-0', 1);
    expect(run.view).toMatchObject({ status: 'running', tool_calls: 1 });
  });

  test('with the policy ask the run waits, and a grant adds the limit once more', () => {
    const run = new Simulation({
      agent: { limits: { max_iterations: 1 }, policies: { budget: 'ask', approval_timeout_ms: 500 } },
    });
    run.model('model-1', calls(call('math.add', { n: 1 }))).tool('tool-1-0', 1);
    expect(run.status).toBe('waiting');
    expect(run.document.wake_at).toBe(T0 + 500);
    expect(run.signalsOf('ai.tool.approval_requested')).toMatchObject([
      { call_id: 'budget-1', tool_name: 'budget.max_iterations', arguments: { limit: 1, used: 1 } },
    ]);
    expect(run.view.waiting_for[1]).toMatchObject({ kind: 'budget', id: 'budget-1', name: 'max_iterations' });
    run.decide('budget-1', 'approve');
    expect(run.ids().at(-1)).toBe('model-2');
    run.model('model-2', calls(call('math.add', { n: 2 }))).tool('tool-2-0', 1);
    expect(run.signalsOf('ai.tool.approval_requested')[1]).toMatchObject({ call_id: 'budget-2' });
    run.decide('budget-1', 'approve');
    expect(run.state.counters.late_decisions).toBe(1);
    expect(run.status).toBe('waiting');
  });

  test('denied, the run ends as with the policy stop; not decided in time, it fails as undecided', () => {
    const asked = (limits: Record<string, number>): Simulation =>
      new Simulation({ agent: { limits, policies: { budget: 'ask', approval_timeout_ms: 500 } } }).model(
        'model-1',
        calls(call('math.add')),
      );
    const ended = { status: 'failed', termination_reason: 'max_tool_calls' };
    expect(asked({ max_tool_calls: 0 }).decide('budget-1', 'deny').view).toMatchObject(ended);
    const undecided = { status: 'failed', termination_reason: 'approval_expired' };
    expect(asked({ max_tool_calls: 0 }).pass(500).view).toMatchObject(undecided);
    expect(asked({ max_iterations: 1 }).tool('tool-1-0', 1).pass(500).view).toMatchObject(undecided);
    expect(asked({ max_tool_calls: 0 }).decide('budget-1', 'approve').ids()).toContain('tool-1-0');
  });

  test('while the budget question is open nothing starts, not even approved calls', () => {
    const run = new Simulation({ agent: { limits: { max_tool_calls: 0 }, policies: { budget: 'ask' } } });
    run.model('model-1', calls(call('math.add', {}, 'a'), call('fs.remove', {}, 'b')));
    run.decide('tool-1-1', 'approve');
    expect(run.ids()).toEqual(['model-1']);
    run.decide('budget-1', 'approve');
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1']);
  });
});

describe('the deadline of the run', () => {
  test('ends it as timeout, cancels what is open, answers every tool call in the history', () => {
    const run = new Simulation({ agent: { limits: { deadline_ms: 5_000 } } });
    expect(run.document.wake_at).toBe(T0 + 5_000);
    run.model('model-1', calls(call('math.add', {}, 'a'), call('fs.list', {}, 'b'))).tool('tool-1-1', 'kept');
    run.pass(4_999);
    expect(run.status).toBe('running');
    run.pass(1);
    expect(run.view).toMatchObject({ status: 'timeout', termination_reason: 'deadline_exceeded' });
    expect(run.signalsOf('ai.request.failed')).toMatchObject([{ error: { type: 'deadline_exceeded' } }]);
    expect(run.outbox.map(({ kind }) => kind)).toEqual(['cancel_directives']);
    const answers = run.messages.filter(({ role }) => role === 'tool');
    expect(answers.map(({ tool_call_id, is_error }) => [tool_call_id, is_error])).toEqual([
      ['a', true],
      ['b', undefined],
    ]);
    expect(run.document.wake_at).toBeNull();
  });

  test('the run may set its own', () => {
    const run = new Simulation({ spec: { overrides: { limits: { deadline_ms: 10 } } } });
    expect(run.pass(10).status).toBe('timeout');
  });
});
