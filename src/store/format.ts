// The format of what is stored for any process to act on: a directive's envelope, a run's spec and document. While two versions run side by
// side, the older one leaves alone what has a later format.
// Must never grow for an added member: readers skip what they do not know.
import { isObject } from '../contract/json/json-object.ts';

/** Member `format`; not written where it is 1. A change that an older process would misunderstand writes the next one. */
const FORMAT = 1;

/** A record of a later format is released to the other processes again after this time, milliseconds. */
export const LEFT_ALONE_MS = 5_000;

export function isLater(stored: unknown): boolean {
  return isObject(stored) && typeof stored['format'] === 'number' && stored['format'] > FORMAT;
}
