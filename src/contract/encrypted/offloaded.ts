// What stands for a member of a directive that lies in the store of large payloads.
// Must never need a library, nor say more of the member than its size.
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
