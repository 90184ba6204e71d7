// Checks signals from user code: agents, strategies, custom directives.
// Must never accept a type that belongs to the service, nor a character that ends a line.
import { ID_PATTERN } from '../identifiers.ts';
import { isObject } from '../json/json-object.ts';

/** Without white space and control characters: event streams and terminals print the type in a line. */
const OWN_TYPE = /^[^\s\p{C}\p{Z}]{1,256}$/u;
/** Types of the service; `adjutant.` is for the events of its streams. */
const RESERVED_TYPE = /^(?:ai|agent|directive|adjutant)(?:\.|$)/i;
const SOURCE = /^[^\s\p{C}\p{Z}]{1,256}$/u;

/** Fault of a signal from user code. */
export type OwnSignalFault =
  | 'invalid_type'
  | 'reserved_type'
  | 'invalid_source'
  | 'invalid_subject'
  | 'invalid_cause'
  | 'invalid_data';

/** Why only the service may send signals of this type; null: user code may. */
export function ownTypeFault(type: unknown): 'invalid_type' | 'reserved_type' | null {
  if (typeof type !== 'string' || !OWN_TYPE.test(type)) return 'invalid_type';
  return RESERVED_TYPE.test(type) ? 'reserved_type' : null;
}

/** Fault of a signal from user code, its type first; null: none. */
export function ownSignalFault(signal: object): OwnSignalFault | null {
  const { type, source, subject, cause, data } = signal as Record<string, unknown>;
  const fault = ownTypeFault(type);
  if (fault) return fault;
  if (source !== undefined && !isText(source, SOURCE)) return 'invalid_source';
  if (subject !== undefined && !isText(subject, ID_PATTERN)) return 'invalid_subject';
  if (cause !== undefined && !isText(cause, SOURCE)) return 'invalid_cause';
  return isObject(data) ? null : 'invalid_data';
}

function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}
