// The requests of what is submitted under a key: their ids, and the name of one submission.
// Must never show the key in an id, nor give two kinds of use, or two tenants, the same requests.
import { hash } from 'node:crypto';
import { type Directive, DIRECTIVE_TYPES, type ParsedDirective } from '../contract/directive/directive.ts';
import { type Once, type OnceFields, onceOf } from '../contract/directive/once.ts';

export const ONCE_REQUEST_PREFIX = 'once.';

/** Characters of SHA-256, in hexadecimal digits: as keys.ts and include-tag.lua of the journal count on. */
const KEY_DIGITS = 32;

/** null: it is done each time. A field of that name in a directive type of a user means something else. */
export function onceOfDirective(directive: ParsedDirective | Directive): Once | null {
  return DIRECTIVE_TYPES.includes(directive.type) ? onceOf(directive as OnceFields) : null;
}

export interface OnceDirective {
  readonly directive: Directive;
  readonly once: Once;
}

/** null: there are several, or it has no key. */
export function onceIn(directives: readonly Directive[]): OnceDirective | null {
  const [directive] = directives;
  if (directive === undefined || directives.length > 1) return null;
  const once = onceOfDirective(directive);
  return once && { directive, once };
}

/** Keys of runs and of directives are apart. `unique`: as in `onceRequestId`. */
export function onceRunId({ kind, key }: Once, unique: string): string {
  return onceRequestId({ kind: `run.${kind}`, key }, unique);
}

/** `unique`: without a dot. The tenant is written before it, as with every id. */
export function onceRequestId({ kind, key }: { kind: string; key: string }, unique: string): string {
  // @guard once-tenant
  return `${ONCE_REQUEST_PREFIX}${hash('sha256', `${kind}:${key}`, 'hex').slice(0, KEY_DIGITS)}.${unique}`;
}

export function uniqueOf(requestId: string): string {
  return requestId.slice(requestId.lastIndexOf('.') + 1);
}
