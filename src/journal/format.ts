// The format of what is stored for any process to act on. While two versions run side by side, the older one leaves alone what
// is of a later format: a directive's envelope, a run's spec and document.
// Must never grow for an added member: readers skip what they do not know.
import { isObject } from '../contract/json-object.ts';

/** Not written while it is 1; a change that an older process would misunderstand writes `format: 2`. */
const FORMAT = 1;

/** What is of a later format is offered to the others again after this time, milliseconds. */
export const LEFT_ALONE_MS = 5_000;

export function isLater(stored: unknown): boolean {
  return isObject(stored) && typeof stored['format'] === 'number' && stored['format'] > FORMAT;
}
