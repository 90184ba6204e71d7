// Which directives a client has encrypted, so that it takes no answer to them that is not.
// Must never grow without bound: the oldest are forgotten.
import type { EncryptedDirective } from './encrypted-directive.ts';

const MOST_KNOWN = 10_000;

export interface OwnDirectives {
  add(made: readonly EncryptedDirective[]): void;
  has(place: { readonly request: string; readonly id: string }): boolean;
}

/** Of a client that encrypts nothing. */
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
