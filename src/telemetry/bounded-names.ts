// Keeps a set of names small that callers choose: the known and the first others keep their names, the rest share one.
// Must never forget a name that it has let through.

/** What OpenTelemetry calls a value outside the known ones. */
export const OTHER = '_OTHER';

/** `most` others beside the known ones. */
export function boundedNames(known: Iterable<string>, most: number): (name: string) => string {
  const names = new Set(known);
  const limit = names.size + most;
  return (name) => {
    if (names.has(name)) return name;
    if (names.size >= limit) return OTHER;
    names.add(name);
    return name;
  };
}
