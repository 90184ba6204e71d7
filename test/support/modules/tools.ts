/** Tools of a module, as a user writes them: with control directives, with a fault, and one that takes too long.
 *  It must import what a user's module can. */
import * as z from 'zod';
import { defineTool, errorEnvelope, errorResult, okResult } from '../../../src/agents/modules/definitions.ts';

export const remember = defineTool({
  name: 'remember',
  description: 'Shows a text to the model from now on',
  input: z.strictObject({ text: z.string().min(1), end: z.boolean().default(false) }),
  effect: 'idempotent',
  execute: async ({ text, end }, { progress, toolContext }) => {
    progress(1, 2, 'half');
    return {
      result: okResult({ remembered: text, keys: Object.keys(toolContext) }),
      directives: [
        { type: 'context_anchor', params: { key: 'note', content: text } },
        ...(end ? [{ type: 'complete', params: { summary: text } } as const] : []),
      ],
    };
  },
});

export const others = [
  defineTool({
    name: 'wrong',
    description: 'Returns directives that are none',
    input: z.strictObject({}),
    execute: async () => ({
      result: okResult('r', [{ type: 'stop_processing' }]),
      directives: [{ type: 'dance' }, { type: 'prune_messages', params: { keep_recent: -1 } }] as never,
    }),
  }),
  defineTool({
    name: 'fail',
    description: 'Fails, and asks for something',
    input: z.strictObject({}),
    effect: 'read',
    execute: async () => ({
      result: errorResult(errorEnvelope('not_found', 'it is not here')),
      directives: [{ type: 'complete', params: { summary: 'x' } }],
    }),
  }),
  defineTool({
    name: 'hang',
    description: 'Never answers',
    input: z.strictObject({}),
    execute: async () => Promise.withResolvers<never>().promise,
  }),
];
