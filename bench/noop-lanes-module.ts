/** Directive types that do nothing, each with a lane of its own: four lanes in the slots of each of three masters.
 *  It must do no more than bench/noop-module.ts, which has one. */
import { defineDirective, okResult } from '../src/agents/modules/definitions.ts';
import * as z from 'zod';

/** Letters whose lanes are spread evenly; i, j, m and n would add to one master alone. */
export const noopLanes = 'abcdefghklop'.split('').map((letter) =>
  defineDirective({
    type: `noop${letter}`,
    mode: 'queued',
    schema: z.strictObject({}),
    effect: 'read',
    execute: () => Promise.resolve({ result: okResult('ok') }),
  }),
);

export const [a, b, c, d, e, f, g, h, k, l, o, p] = noopLanes;
