/** What a user's module may hold: custom directive types, immediate and queued, and a strategy that uses them.
 *  It must not need anything of the service but what users get. */
import * as z from 'zod';
import { okResult } from '../../../src/contract/result.ts';
import { defineDirective } from '../../../src/agents/core/directive-exec.ts';
import { callTool, defineStrategy } from '../../../src/agents/strategies/strategy.ts';

export const remember = defineDirective({
  type: 'remember',
  mode: 'immediate',
  schema: z.strictObject({ what: z.string() }),
  exec: ({ what }, _signal, state) => ({ ok: true, state: { ...state, remembered: what } }),
});

export const halt = defineDirective({
  type: 'halt',
  mode: 'immediate',
  schema: z.strictObject({}),
  exec: (_directive, _signal, state) => ({ stop: true, reason: 'nothing left to sell', state }),
});

export const order = defineDirective({
  type: 'shop.order',
  mode: 'queued',
  schema: z.strictObject({ item: z.string().min(1), pieces: z.int().min(1).default(1) }),
  effect: 'idempotent',
  execute: async (directive, { toolContext }) => {
    const { item, pieces } = directive;
    const seen = item === 'context' ? { fields: Object.keys(directive).sort(), toolContext } : {};
    return { result: okResult({ ordered: item, pieces, ...seen }) };
  },
});

interface State {
  asked: boolean;
}

/**
 * Remembers, orders (or calls the tool from its input), reports it, and completes with the answer and what it
 * remembered.
 */
export const shopkeeper = defineStrategy<State>({
  name: 'shopkeeper',
  init: () => ({ asked: false }),
  reduce(state, signal, { spec, agentState }) {
    if (signal.type === 'ai.request.started') {
      const asked = /^ask (.+)$/.exec(spec.query)?.[1];
      const directives = [
        { type: 'remember', what: spec.query },
        asked ? callTool('ask-1', asked) : { type: 'shop.order', id: 'order-1', item: spec.query },
        { type: 'unheard.of', id: 'odd' },
        ...(spec.query === 'halt' ? [{ type: 'halt' }] : []),
      ];
      return { state: { asked: true }, directives };
    }
    if (signal.type !== 'directive.result' && signal.type !== 'ai.tool.result') return { state };
    const { result } = signal.data;
    const signals = [{ type: 'shop.sold', data: { item: spec.query } }];
    const answer = {
      answer: result.ok ? result.payload : result.error,
      remembered: agentState['remembered'],
    };
    return { state, signals, outcome: { status: 'completed', result: answer } };
  },
});
