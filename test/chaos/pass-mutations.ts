/** The protections of the limits by key where a worker stands still before its call, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

/** Of what begins with them. */
export const PASS_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-may-begin': [patch('flow-may-begin', 'if (held !== null) return held;')],
  'flow-machine-slept': [
    patch('flow-machine-slept', 'return performance.now() - heldAt <= mostMs && heldAtWall > 0;'),
  ],
};

/** Of what a frozen worker sends when it wakes. */
export const LAST_LOOK_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-last-look': [patch('flow-last-look', 'if (deadline.ending() !== null) return notSent(call);')],
};

export const WRITTEN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-written': [patch('flow-written', 'const response = await fetch(url, traced(init, request));')],
};

export const WRITTEN_MODEL_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-written-model': [
    patch('flow-written-model', "globalThis.fetch(input, { ...wellFormedInit(init), redirect: 'manual' });"),
  ],
};
