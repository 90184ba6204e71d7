// Gives every submitted directive its identity: the request it belongs to and its own id.
// Must never give two directives of one batch the same generated id, nor a retried submission another one.
import { hash } from 'node:crypto';
import { completeDirective, type Directive, type ParsedDirective } from '../contract/directive/directive.ts';
import { type KeyedIds, keyedIdsOf } from '../contract/directive/keyed-ids.ts';
import { newIdentifier, newShortId } from '../platform/telemetry/identifier.ts';
import { onceOfDirective, onceRequestId } from './once-request.ts';

export interface Identified {
  requestId: string;
  directives: Directive[];
}

/** Ids from a caller's key: the same key names the same request and directives for ever. */
export function keyedIds(idempotencyKey: string): KeyedIds {
  return keyedIdsOf(hash('sha256', idempotencyKey, 'hex'));
}

/** Draws ids for what came without one. */
export interface NewIds {
  /** Makes the id of a request. */
  request(): string;
  /** Makes the id of a directive, or a part of the id of a request under a key. */
  other(): string;
}

const NEW_IDS: NewIds = { request: () => newShortId(), other: () => newIdentifier() };

/** All directives name at most one request. */
export function identify(
  parsed: readonly ParsedDirective[],
  idempotencyKey: string | undefined,
  newIds: NewIds = NEW_IDS,
): Identified {
  const keyed = idempotencyKey === undefined ? undefined : keyedIds(idempotencyKey);
  const named = parsed.find((directive) => directive.request_id !== undefined)?.request_id;
  const [only] = parsed;
  const once = only !== undefined && parsed.length === 1 ? onceOfDirective(only) : null;
  const requestId =
    named ?? (once && onceRequestId(once, newIds.other())) ?? keyed?.request ?? newIds.request();
  const directives = parsed.map((directive, index) =>
    completeDirective(directive, {
      id: directive.id ?? keyed?.directive(index) ?? newIds.other(),
      request_id: requestId,
    }),
  );
  return { requestId, directives };
}
