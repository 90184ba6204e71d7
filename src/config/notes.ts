// The meaning of each key of the configuration, for docs/configuration.md and the published JSON Schema.
// Must never repeat what the schema itself states: type, range, default.
import * as z from 'zod';

export interface Note {
  /** The meaning, in a sentence or two. */
  readonly description: string;
  /** Values with a special meaning, as in `0 = no limit`. */
  readonly special?: string;
  readonly unit?: string;
  /** Default of the key, if that is not a value of the schema. */
  readonly fallback?: string;
}

/** A registry of its own: these notes are not part of the wire types that some keys share. */
export const notes = z.registry<Note>();
