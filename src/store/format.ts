// The format of what is stored for any process to act on. While two versions run side by side, the older one leaves alone what
// is of a later format: a directive's envelope, a run's spec and document.
// Must never grow for an added member: readers skip what they do not know.
import { isObject } from '../contract/json/json-object.ts';

/** The newest that is known here. Not written where it is 1; a change that an older process would misunderstand writes the next one. */
const FORMAT = 6;

/** Format of a run's document that leaves its agent and tools to the spec. */
export const APART_FROM_SETUP = 2;

/**
 * Format of an envelope that leaves its directive's ids to the key and the job, as 3 did, beside a record that has
 * type, lane and times as one field.
 */
export const PACKED_RECORD = 4;

/** Format of the spec and the document of a run whose payloads are encrypted. */
export const SEALED_RUN = 5;

/** Format of the spec of a forked run, and of its children: its tools act only as `spec.origin` says. */
export const FORKED_RUN = 6;

/** A record of a later format is released to the other processes again after this time, milliseconds. */
export const LEFT_ALONE_MS = 5_000;

export function isLater(stored: unknown): boolean {
  return isObject(stored) && typeof stored['format'] === 'number' && stored['format'] > FORMAT;
}
