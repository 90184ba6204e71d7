/** Users' strategies and agents: what they may emit, and what happens to a run whose strategy is wrong.
 *  It must not use the built-in strategy. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createCore } from '../../../src/agents/core/core.ts';
import { defineAgent } from '../../../src/agents/define-agent.ts';
import {
  type AnyStrategy,
  callModel,
  callTool,
  defineStrategy,
  type Step,
  type Strategy,
  type StrategyContext,
  type StrategySignal,
} from '../../../src/agents/strategies/strategy.ts';
import { Simulation } from './simulation.ts';

/** Two drafts at once, then a judge: a strategy as a user would write it. */
const judged = defineStrategy({
  name: 'judged',
  options: z.strictObject({ drafts: z.int().min(1).default(2) }),
  init: () => ({ drafts: {} as Record<string, string> }),
  reduce(state, signal, context) {
    if (signal.type === 'ai.request.started') {
      const drafts = Array.from({ length: context.options.drafts }, (_unused, n) =>
        callModel(context, `draft-${n}`),
      );
      return { state, directives: drafts };
    }
    if (signal.type !== 'ai.llm.response') return { state };
    const { result, call_id: id } = signal.data;
    if (!result.ok) return { state, outcome: { status: 'failed', error: result.error } };
    const { text } = result.payload as { text: string };
    if (id === 'judge') return { state, outcome: { status: 'completed', result: text } };
    const drafts = { ...state.drafts, [id]: text };
    if (Object.keys(drafts).length < context.options.drafts) return { state: { drafts } };
    const question = { role: 'user' as const, content: `Choose:\n${Object.values(drafts).join('\n')}` };
    return {
      state: { drafts },
      directives: [callModel(context, 'judge', { messages: [question], tools: [] })],
    };
  },
});

function run(strategy: AnyStrategy, options: Record<string, unknown> = {}): Simulation {
  return new Simulation({ agent: { strategy: strategy.name, options }, core: { strategies: [strategy] } });
}

type Reduce = (signal: StrategySignal, context: StrategyContext) => Partial<Step<null>>;

/** Without a state of its own. */
function stateless(reduce: Reduce, more: Partial<Strategy<null>> = {}): AnyStrategy {
  const steps = (_state: null, signal: StrategySignal, context: StrategyContext): Step<null> => ({
    state: null,
    ...reduce(signal, context),
  });
  return defineStrategy<null>({ name: 's', init: () => null, reduce: steps, ...more });
}

/** A strategy whose first step is `step`. */
function first(step: Record<string, unknown>): Simulation {
  return run(stateless(() => step));
}

describe('a user’s strategy', () => {
  test('works with several model calls, options and messages of its own', () => {
    const sim = run(judged, { drafts: 2 });
    expect(sim.ids()).toEqual(['draft-0', 'draft-1']);
    sim.model('draft-1', { text: 'B' }).model('draft-0', { text: 'A' });
    expect(sim.directive('judge')).toMatchObject({
      tools: [],
      context: { messages: [{ role: 'user', content: 'Choose:\nB\nA' }] },
    });
    sim.model('judge', { text: 'A' });
    expect(sim.view).toMatchObject({ status: 'completed', result: 'A', strategy: 'judged', iterations: 3 });
  });

  test('inputs are added to messages of its own, and to the history', () => {
    const sim = run(judged, { drafts: 1 }).input('shorter');
    sim.model('draft-0', { text: 'A' });
    const { messages } = sim.directive('judge')['context'] as { messages: unknown[] };
    expect(messages).toEqual([
      { role: 'user', content: 'Choose:\nA' },
      { role: 'user', content: 'shorter' },
    ]);
    expect(sim.messages.at(-1)).toEqual({ role: 'user', content: 'shorter' });
  });

  test('embeds texts: no iteration, its tokens are reserved and recorded', () => {
    const embedding = stateless((signal) =>
      signal.type === 'ai.embed.result'
        ? { outcome: { status: 'completed', result: signal.data.result } }
        : { directives: [{ type: 'llm_embed', id: 'e', texts: ['x'.repeat(400), 'y'] }] },
    );
    const limited = (max_tokens: number): Simulation =>
      new Simulation({ agent: { strategy: 's', limits: { max_tokens } }, core: { strategies: [embedding] } });
    const sim = limited(101);
    const asked = { type: 'llm_embed', model_alias: 'embedding', request_id: 'r1' };
    expect(sim.directive('e')).toMatchObject(asked);
    expect(sim.state.open['e']).toMatchObject({ type: 'llm_embed', tokens: 101 });
    expect(limited(100).view.termination_reason).toBe('max_tokens');
    const usage = { input_tokens: 90, output_tokens: 0, total_tokens: 90 };
    const result = { ok: true, payload: { vectors: [], usage }, effects: [] };
    sim.signal('ai.embed.result', { call_id: 'e', result, metadata: { cost: 0.5 } });
    const spent = { iterations: 0, cost: 0.5, usage: { total_tokens: 90 } };
    expect(sim.view).toMatchObject({ status: 'completed', ...spent });
  });

  describe('that knows nothing of arguments that cannot be used', () => {
    const fault = { reason: 'cut', message: 'The tool was not called: cut.', written: '{"folder":"/v' };
    const cut = { id: 'c1', name: 'math.add', arguments: {}, arguments_error: fault };
    type Call = typeof cut;
    const calling = (idOf: (call: Call) => string, later: boolean): AnyStrategy =>
      defineStrategy<readonly Call[]>({
        name: 's',
        init: () => [],
        reduce(state, signal, context) {
          if (signal.type === 'ai.request.started') return { state, directives: [callModel(context, 'm')] };
          const made = signal.type === 'ai.llm.response' ? callsOf(signal) : state;
          const calls = made.map((call) => callTool(idOf(call), call.name, call.arguments));
          if (later && signal.type === 'ai.llm.response') return { state: made, awaits: 'input' };
          return signal.type === 'ai.tool.result'
            ? { state, awaits: 'input' }
            : { state: [], directives: calls };
        },
      });
    const callsOf = ({ data }: Extract<StrategySignal, { type: 'ai.llm.response' }>): readonly Call[] =>
      (data.result as { payload?: { tool_calls: Call[] } }).payload?.tool_calls ?? [];
    const refused = { type: 'emit_tool_error', error: { type: 'validation_error', message: fault.message } };

    test.each([
      ['under its id', ({ id }: Call) => id],
      ['under an id of its own', ({ id }: Call) => `own-${id}`],
    ])('cannot make such a call, %s', (_name, idOf) => {
      const sim = run(calling(idOf, false)).model('m', { text: '', tool_calls: [cut] });
      expect(sim.directive(idOf(cut))).toMatchObject({ ...refused, tool_name: 'math.add' });
      expect(sim.accepted.map(({ type }) => type)).not.toContain('tool_exec');
    });

    test.each([
      ['under its id', ({ id }: Call) => id],
      ['under an id of its own', ({ id }: Call) => `own-${id}`],
    ])('nor later, %s', (_name, idOf) => {
      const sim = run(calling(idOf, true))
        .model('m', { text: '', tool_calls: [cut] })
        .input('go');
      expect(sim.directive(idOf(cut))).toMatchObject(refused);
      expect(sim.accepted.map(({ type }) => type)).not.toContain('tool_exec');
    });

    test('and makes the calls beside it', () => {
      const whole = { id: 'c2', name: 'math.add', arguments: { a: 1 } };
      const bare = { id: 'c3', name: 'fs.list', arguments: {} };
      const strategy = calling(({ id }) => id, false);
      const sim = run(strategy).model('m', { text: '', tool_calls: [cut, whole, bare] });
      const types = sim.accepted.slice(1).map(({ id, type }) => [id, type]);
      expect(types).toEqual([
        ['c1', 'emit_tool_error'],
        ['c2', 'tool_exec'],
        ['c3', 'tool_exec'],
      ]);
    });
  });

  test('its options are checked by its schema', () => {
    expect(run(judged, { drafts: 0 }).view.termination_reason).toBe('invalid_options');
  });

  test('that waits for input gets it', () => {
    const patient = stateless((signal) =>
      signal.type === 'ai.request.input'
        ? { outcome: { status: 'completed', result: signal.data.content, reason: 'told' } }
        : { awaits: 'input' },
    );
    const sim = run(patient);
    expect(sim.status).toBe('waiting');
    sim.input('hello');
    expect(sim.view).toMatchObject({ status: 'completed', result: 'hello', termination_reason: 'told' });
  });

  test('may end with calls open: they are cancelled; work beside an outcome is not begun', () => {
    const eager = stateless((signal, context) =>
      signal.type === 'ai.request.started'
        ? { directives: [callModel(context, 'a'), callModel(context, 'b')] }
        : {
            directives: [callTool('t', 'math.add'), { type: 'emit', signal: { type: 'x.y' } }],
            outcome: { status: 'completed', result: 1 },
          },
    );
    const sim = run(eager).model('a', { text: 'x' });
    expect(sim.view.status).toBe('completed');
    expect(sim.ids()).toEqual(['a', 'b']);
    expect(sim.types()).toEqual(['ai.request.started', 'x.y', 'ai.request.completed']);
    expect(sim.outbox).toMatchObject([{ kind: 'cancel_directives', directive_ids: ['b'] }]);
  });

  test('close returns the history when the run ends from outside, not after an outcome of its own', () => {
    const calling: Reduce = (signal, context) =>
      signal.type === 'ai.request.started'
        ? { directives: [callModel(context, 'm')] }
        : { outcome: { status: 'completed', result: 1 } };
    const closing = stateless(calling, {
      close: (_state, context) => [...context.messages, { role: 'assistant', content: 'closed' }],
    });
    expect(run(closing).cancel().messages.at(-1)).toEqual({ role: 'assistant', content: 'closed' });
    expect(run(closing).model('m', { text: 'x' }).messages).toHaveLength(1);
    const broken = stateless(calling, {
      close: () => {
        throw new Error('oops');
      },
    });
    const sim = run(broken).cancel();
    expect(sim.status).toBe('cancelled');
    expect(sim.logged).toMatchObject([{ level: 'error' }]);
  });

  test('cannot write signals of the service', () => {
    const sim = first({
      signals: [
        { type: 'ai.request.completed', data: {} },
        { type: 'own.x', data: {} },
      ],
      awaits: 'input',
    });
    expect(sim.types()).toEqual(['ai.request.started', 'directive.ignored', 'own.x']);
  });

  test('one named react replaces the built-in one', () => {
    const mine = stateless(() => ({ outcome: { status: 'completed', result: 'mine' } }), { name: 'react' });
    expect(new Simulation({ core: { strategies: [mine] } }).view.result).toBe('mine');
    expect(() => createCore({ strategies: [mine, mine] })).toThrow('defined twice');
  });
});

describe('a strategy that is wrong fails its run at once', () => {
  test.each([
    ['throws', () => JSON.parse('{'), 'JSON'],
    ['answers nothing', () => undefined, 'must return a step'],
    ['answers later', () => Promise.resolve({ state: null }), 'must return a step'],
    ['answers what is no JSON', () => ({ state: { at: new Date(0) } }), 'state.at'],
    ['answers nonsense', () => ({ state: null, directives: 7 }), 'iterable'],
  ])('when reduce %s', (_what, reduce, message) => {
    const sim = run(defineStrategy({ name: 's', init: () => null, reduce: reduce as never }));
    expect(sim.view).toMatchObject({ status: 'failed', termination_reason: 'strategy_error' });
    expect(JSON.stringify(sim.view.error)).toContain(message);
  });

  test('the error of an outcome is an envelope, whatever it was', () => {
    const sim = first({ outcome: { status: 'failed', error: { message: 'm', code: 'odd' } } });
    expect(sim.view).toMatchObject({ status: 'failed', termination_reason: 'odd' });
    expect(sim.view.error).toEqual({ type: 'odd', message: 'm', details: {}, retryable: false });
  });

  test('when init throws', () => {
    const init = (): null => {
      throw new Error('oops');
    };
    const sim = run(stateless(() => ({}), { init }));
    expect(sim.view.termination_reason).toBe('strategy_error');
    expect(sim.types()).toEqual(['ai.request.started', 'ai.request.failed']);
  });

  test('when it waits for nothing', () => {
    expect(first({}).view).toMatchObject({ status: 'failed', termination_reason: 'stalled' });
  });

  test.each([
    ['an id twice', [callTool('a', 'math.add'), callTool('a', 'math.add')]],
    ['an id that is none', [callTool('a b', 'math.add')]],
    ['the id of an inquiry about a lost call', [callTool('a.reconcile-1', 'math.add')]],
    ['no id', [{ type: 'tool_exec', tool_name: 'math.add' }]],
    ['a model directive that the contract refuses', [{ type: 'llm_generate', id: 'm', max_tokens: -1 }]],
    ['a tool directive that the contract refuses', [callTool('a', 'math.add', {}, { timeout_ms: 0.5 })]],
    ['an agent directive that the contract refuses', [{ type: 'schedule', delay_ms: -1, message: 1 }]],
  ])('when it gives %s', (_what, directives) => {
    const sim = first({ directives });
    expect(sim.view).toMatchObject({ status: 'failed', termination_reason: 'strategy_error' });
  });

  test('an id is never free again, also after its call has ended', () => {
    const again = stateless((_signal, context) => ({ directives: [callModel(context, 'm')] }));
    expect(run(again).model('m', { text: 'x' }).view.termination_reason).toBe('strategy_error');
  });

  test('the history of such a failed run is complete', () => {
    const message = { role: 'assistant', content: '', tool_calls: [{ id: 'x', name: 'a.b', arguments: {} }] };
    expect(first({ messages: [message] }).messages).toMatchObject([{ role: 'assistant' }, { role: 'tool' }]);
  });
});

describe('defineAgent', () => {
  test('fills in the defaults', () => {
    expect(defineAgent({ name: 'a' })).toMatchObject({
      strategy: 'react',
      model_alias: 'fast',
      limits: { max_iterations: 10, parallel_tool_calls: 4 },
      policies: { busy: 'reject', error: 'log', parent_death: 'stop' },
    });
  });

  test('names each wrong member by its path', () => {
    const wrong = { name: 'a', limits: { max_iterations: 0 }, tols: [] };
    expect(() => defineAgent(wrong as never)).toThrow(
      /agent "a": .*limits\.max_iterations .*tols is not a known key/,
    );
    expect(() => defineAgent(null as never)).toThrow(TypeError);
  });
});
