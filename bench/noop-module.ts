/** What the rows of no-ops do: a directive type that does nothing, and a strategy of three of them, one after the other.
 *  It must cost the product nothing that plain BullMQ's rows do not pay: no model, no tool, no MCP server. */
import { defineDirective, defineStrategy, okResult } from '../src/agents/modules/definitions.ts';
import * as z from 'zod';

/** A lane takes its name, so it is one word. */
export const NOOP = 'noop';

export const noop = defineDirective({
  type: NOOP,
  mode: 'queued',
  schema: z.strictObject({}),
  effect: 'read',
  execute: () => Promise.resolve({ result: okResult('ok') }),
});

const STEPS = 3;

export const steps = defineStrategy<{ done: number }>({
  name: 'steps',
  init: () => ({ done: 0 }),
  reduce(state, { type }) {
    if (type !== 'ai.request.started' && type !== 'directive.result') return { state };
    const done = type === 'directive.result' ? state.done + 1 : 0;
    if (done === STEPS) return { state: { done }, outcome: { status: 'completed', result: 'done' } };
    return { state: { done }, directives: [{ type: NOOP, id: `step-${done}` }] };
  },
});
