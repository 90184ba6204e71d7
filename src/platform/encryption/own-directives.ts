// Which directives and runs a client has encrypted, so that it takes no answer to them that is not.
// Must never grow without bound: the oldest are forgotten.

const MOST_KNOWN = 10_000;

export interface OwnDirectives {
  add(made: readonly { readonly request_id: string; readonly id: string }[]): void;
  has(place: { readonly request: string; readonly id: string }): boolean;
}

/** In place of the id of a directive: the run of the request. */
export const OWN_RUN = '@run';

/** Directives of a client without encryption. */
export const NO_OWN: OwnDirectives = { add() {}, has: () => false };

export function createOwnDirectives(): OwnDirectives {
  const known = new Set<string>();
  return {
    add(made) {
      for (const { request_id, id } of made) known.add(`${request_id}/${id}`);
      for (const oldest of known) {
        if (known.size <= MOST_KNOWN) break;
        known.delete(oldest);
      }
    },
    has: ({ request, id }) => known.has(`${request}/${id}`),
  };
}
