/** A module of a user: a directive that is carried out for ever, and says who has it.
 *  It must not end by itself: a takeover needs something to take over. */
import * as z from 'zod';
import { okResult } from '../src/contract/result.ts';
import { defineDirective } from '../src/agents/core/directive-exec.ts';

/** What a worker prints when it has claimed the directive and begins. */
export const TAKEN = /^taken \S+ \d+$/;

export const stuck = defineDirective({
  type: 'bench.stuck',
  mode: 'queued',
  schema: z.strictObject({ deadline_ms: z.int().default(600_000) }),
  effect: 'idempotent',
  execute: async ({ id }, { signal, redeliveries }) => {
    console.log(`taken ${id} ${redeliveries}`);
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    return { result: okResult(null) };
  },
});
