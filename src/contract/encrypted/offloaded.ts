// The form that replaces a member of a directive in the store of large payloads. Needs no library, and discloses only
// the size of the member.
import { isObject } from '../json/json-object.ts';

const OFFLOADED = '$offloaded';

/** Member that represents a payload stored elsewhere. */
export function offloadedMember(bytes: number): object {
  return { [OFFLOADED]: { bytes } };
}

/** Whether a payload is stored elsewhere. */
export function isOffloaded(value: unknown): boolean {
  return isObject(value) && Object.hasOwn(value, OFFLOADED);
}
