// Extends what a worker holds while its attempt goes on: the lease of a claim, and its place in the gate of a lane.
// Must never import more than it runs: the heartbeat thread of every worker loads it.
import type { GateRef } from './gate.ts';
import { type ClaimRef, memberOf } from '../refs.ts';
import type { KeySpace } from '../keys.ts';
import type { RunScript } from '../scripts.ts';

export function createLeases(run: RunScript, keys: Pick<KeySpace, 'request' | 'gate'>) {
  async function extendClaim(
    { requestId, id, fence }: ClaimRef,
    leaseMs: number,
  ): Promise<'extended' | 'cancelled' | 'lost'> {
    const [verdict] = await run('extend', keys.request(requestId), [id, fence, leaseMs]);
    return verdict as 'extended' | 'cancelled' | 'lost';
  }

  /** False: it is not its own any more. */
  async function extendPass(
    lane: string,
    ref: GateRef,
    { token, leaseMs }: { token: string; leaseMs: number },
  ): Promise<boolean> {
    const [verdict] = await run('gate-extend', [keys.gate(lane)], [memberOf(ref), token, leaseMs]);
    return verdict === 'extended';
  }

  return { extendClaim, extendPass };
}
