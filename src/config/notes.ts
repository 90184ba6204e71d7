// What each key of the configuration means: the words of docs/configuration.md and of the published JSON Schema.
// Must never say what the schema says by itself: type, range, default.
import * as z from 'zod';

export interface Note {
  /** The meaning, in a sentence or two. */
  readonly description: string;
  /** Values that mean something of their own, as in `0 = no limit`. */
  readonly special?: string;
  readonly unit?: string;
  /** What holds without the key, where that is no value of the schema. */
  readonly fallback?: string;
}

/** A registry of its own: these words are no part of the wire types that some keys share. */
export const notes = z.registry<Note>();
