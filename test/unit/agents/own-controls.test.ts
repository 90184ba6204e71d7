/** Control directives in users' strategies: applyControls, and handlers of their own.
 *  It must not use what a user's module cannot import. */
import { describe, expect, test } from 'vitest';
import {
  applyControls,
  controlHandlers,
  callTool,
  type ControlHandlers,
  defineStrategy,
  reactWith,
} from '../../../src/agents/modules/definitions.ts';
import { call, calls, Simulation } from './simulation.ts';

const control = (type: string, params: Record<string, unknown> = {}): unknown => ({ type, params });

/** Calls one tool, applies the control directives in its result, and completes with the outcome. */
function obedient(handlers: ControlHandlers = {}) {
  return defineStrategy({
    name: 'obedient',
    init: () => null,
    reduce(state, signal, context) {
      if (signal.type === 'ai.request.started') return { state, directives: [callTool('t', 'math.add')] };
      if (signal.type !== 'ai.tool.result') return { state };
      const applied = applyControls(context, [signal.data], { handlers });
      const { messages, anchors, signals, completion, modelAlias } = applied;
      const result = { text: completion?.text ?? null, modelAlias };
      return { state, messages, anchors, signals, outcome: { status: 'completed', result } };
    },
  });
}

function obeyed(effects: unknown[], handlers?: ControlHandlers): Simulation {
  const core = { strategies: [obedient(handlers)] };
  return new Simulation({ agent: { strategy: 'obedient' }, core }).tool('t', 5, effects);
}

describe('a user’s strategy', () => {
  test('applies control directives with applyControls, whose signals may be the service’s own', () => {
    const run = obeyed([
      control('tier_change', { tier: 'capable' }),
      control('inject_context', { content: 'from the tool' }),
      control('phase_change', { phase: 'p' }),
      { type: 'nope' },
      control('complete', { summary: 'Done.' }),
    ]);
    expect(run.view).toMatchObject({ status: 'completed', result: { text: 'Done.', modelAlias: 'capable' } });
    expect(run.messages.at(-1)).toEqual({ role: 'user', content: 'from the tool' });
    expect(run.types().slice(1, -1)).toEqual([
      'agent.tier_changed',
      'directive.ignored',
      'directive.rejected',
    ]);
  });

  test('can replace a handler, which cannot write signals of the service', () => {
    const handlers: ControlHandlers = {
      phase_change: (context, { params }) => {
        context.anchors = { ...context.anchors, phase: params.phase };
        context.signals.push({ type: 'shop.phase', data: { phase: params.phase } });
        context.signals.push({ type: 'ai.request.completed', data: {} });
      },
    };
    const run = obeyed([control('phase_change', { phase: 'review' })], handlers);
    expect(run.state.anchors).toEqual({ phase: 'review' });
    expect(run.types()).toEqual([
      'ai.request.started',
      'shop.phase',
      'directive.ignored',
      'ai.request.completed',
    ]);
    expect(run.signalsOf('directive.ignored')).toMatchObject([{ reason: 'reserved_type' }]);
  });

  test('whose handler throws fails its run', () => {
    const throwing = (): never => {
      throw new Error('no such phase');
    };
    const run = obeyed([control('phase_change', { phase: 'x' })], { phase_change: throwing });
    expect(run.view).toMatchObject({
      status: 'failed',
      error: { type: 'strategy_error', message: 'no such phase' },
    });
  });
});

test('ReAct with a user’s handler replaces the built-in one', () => {
  const phased = reactWith({
    handlers: {
      phase_change: (context, { params }) => {
        context.messages = [...context.messages, { role: 'user', content: `phase ${params.phase}` }];
      },
    },
  });
  const run = new Simulation({ core: { strategies: [phased] } }).model('model-1', calls(call('math.add')));
  run.tool('tool-1-0', 1, [
    control('phase_change', { phase: 'review' }),
    control('tier_change', { tier: 'capable' }),
  ]);
  expect(run.messages.at(-1)).toEqual({ role: 'user', content: 'phase review' });
  expect(run.types()).toEqual(['ai.request.started', 'agent.tier_changed']);
  expect(run.directive('model-2')).toMatchObject({ model_alias: 'capable' });
  expect(run.model('model-2', { text: 'Five.' }).status).toBe('completed');
});

describe('a registry of handlers', () => {
  // The proposal of typed directives: `register(type, handler)`, the last one counts.
  test('is used like a map of handlers, and a second handler of a type replaces the first', () => {
    const handlers = controlHandlers()
      .register('phase_change', () => {
        throw new Error('replaced');
      })
      .register('phase_change', (context, { params }) => {
        context.anchors = { phase: params.phase };
      });
    expect(obeyed([control('phase_change', { phase: 'review' })], handlers).state.anchors).toEqual({
      phase: 'review',
    });
    expect(Object.keys(handlers)).toEqual(['phase_change']);
  });

  test.each(['nope', 'register', 'toString'])('refuses the type %s, which has no handler', (type) => {
    const register = controlHandlers().register as (type: string, handler: () => void) => void;
    expect(() => register(type, () => {})).toThrow(`"${type}"`);
  });
});

test('a user’s handler of stop_processing decides whether the calls of the round that have not begun are made', () => {
  const going = reactWith({ name: 'going', handlers: { stop_processing: () => {} } });
  const inOrder = { strategy: 'going', options: { calls_in_order: true } };
  const run = new Simulation({ agent: inOrder, core: { strategies: [going] } });
  run.model('model-1', calls(call('math.add', { a: 1 }), call('math.add', { a: 2 })));
  run.tool('tool-1-0', 1, [control('stop_processing')]);
  expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1']);
});
