// How the indexes and gates over requests name one entry.
// Must never import what runs: the heartbeat thread of every worker loads it.
import type { DirectiveRef } from './index/sweep-index.ts';

/** In the sweep index, in a gate, and in what a tenant has open. Identifiers hold no '/'. */
export function memberOf({ requestId, id }: Pick<DirectiveRef, 'requestId' | 'id'>): string {
  return `${requestId}/${id}`;
}
