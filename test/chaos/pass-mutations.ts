/** The protections of the limits by key where a worker stands still before its call, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

/** Of what begins with them. */
export const PASS_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-may-begin': [
    patch(
      'src/worker/gate-pass.ts',
      'if (isWithin(held, parts.limits.leaseMs * FRESH_PER_LEASE)) return held;',
      'if (held !== null) return held;',
    ),
  ],
  'flow-machine-slept': [
    patch('src/worker/gate-pass.ts', ' && Math.abs(Date.now() - heldAtWall) <= mostMs', ' && heldAtWall > 0'),
  ],
};

/** Of what a frozen worker sends when it wakes. */
export const LAST_LOOK_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-last-look': [patch('src/mcp/call.ts', 'holds === null || ', '')],
};

export const WRITTEN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-written': [
    patch('src/mcp/http-fetch.ts', 'heldBack(traced(init, request))', 'traced(init, request)'),
  ],
};

export const WRITTEN_MODEL_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'flow-written-model': [
    patch(
      'src/llm/guarded-fetch.ts',
      "heldBack({ ...wellFormedInit(init), redirect: 'manual' })",
      "{ ...wellFormedInit(init), redirect: 'manual' }",
    ),
  ],
};
