// Parses the texts of a hash in Redis, each again only when it has changed, so that a catalog of megabytes is not.
// Must never hold a field that the last read did not have.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A longer text lets others of this process run before the next one, characters. */
const LONG = 65_536;

interface Parsed<T> {
  readonly text: string;
  readonly value: T;
}

/** The values are shared by all callers, who do not change them. An unchanged text is the same object again. */
export function createParsedFields<T>(): (
  fields: readonly (readonly [string, string])[],
) => Promise<(readonly [string, T])[]> {
  let known = new Map<string, Parsed<T>>();

  return async (fields) => {
    const now = new Map<string, Parsed<T>>();
    for (const [field, text] of fields) {
      const before = known.get(field);
      const isSame = before?.text === text;
      now.set(field, isSame ? before : { text, value: JSON.parse(text) as T });
      if (!isSame && text.length > LONG) await nextTurn();
    }
    known = now;
    return [...now].map(([field, { value }]) => [field, value] as const);
  };
}
