// JSON with one spelling for one value: keys sorted by code unit at every level.
// Must never be given a value that did not pass the JSON guard: it recurses.

/** Like `JSON.stringify`, but with sorted keys; members that JSON cannot hold are left out. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  return canonicalObject(value as Record<string, unknown>);
}

function canonicalObject(value: Record<string, unknown>): string {
  const members: string[] = [];
  for (const key of Object.keys(value).toSorted(byCodeUnit)) {
    if (value[key] !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  }
  return `{${members.join(',')}}`;
}

function byCodeUnit(left: string, right: string): number {
  return left < right ? -1 : 1;
}
