// Parses the texts of a hash in Redis, each again only when it has changed, so that a catalog of megabytes is not.
// Must never hold a field that the last read did not have.
import { createSteps } from '../bounds/steps.ts';

interface Parsed<T> {
  readonly text: string;
  readonly value: T;
}

/** The values are shared by all callers, who do not change them. An unchanged text is the same object again. */
export function createParsedFields<T>(
  parse: (text: string) => Promise<T>,
): (fields: readonly (readonly [string, string])[]) => Promise<(readonly [string, T])[]> {
  let known = new Map<string, Parsed<T>>();

  return async (fields) => {
    const now = new Map<string, Parsed<T>>();
    const nextStep = createSteps();
    for (const [field, text] of fields) {
      const before = known.get(field);
      const isSame = before?.text === text;
      now.set(field, isSame ? before : { text, value: await parse(text) });
      await nextStep();
    }
    known = now;
    return [...now].map(([field, { value }]) => [field, value] as const);
  };
}
