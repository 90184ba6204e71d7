// Names of a directive and of a claim, and how the indexes and gates over requests write one.
// Must never import what runs: the heartbeat thread of every worker loads it.

export interface DirectiveRef {
  requestId: string;
  id: string;
}

/** A claim's name: which directive, and which grant of it. */
export interface ClaimRef extends DirectiveRef {
  fence: number;
}

/** In the sweep index, in a gate, and in what a tenant has open. Identifiers hold no '/'. */
export function memberOf({ requestId, id }: DirectiveRef): string {
  return `${requestId}/${id}`;
}
