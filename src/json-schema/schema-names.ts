/** What references in a schema can name: its own parts, and the schemas of the standard.
 *  It must never fetch anything. */

export interface SchemaNames {
  readonly root: unknown;
  /** Of the schema and of those inside it. */
  readonly ids: readonly string[];
  /** With their `#`. */
  readonly anchors: ReadonlySet<string>;
}

export function namesIn(root: unknown): SchemaNames {
  const ids: string[] = [];
  const anchors = new Set<string>(['#']);
  const open: unknown[] = [root];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, value] of Object.entries(next)) {
      if (typeof value === 'object') open.push(value);
      if (typeof value !== 'string') continue;
      if (key === '$anchor' || key === '$dynamicAnchor') anchors.add(`#${value}`);
      if (key === '$id') (value.startsWith('#') ? anchors : { add: (id: string) => ids.push(id) }).add(value);
    }
  }
  return { root, ids, anchors };
}

export function isKnownReference(reference: unknown, { root, ids, anchors }: SchemaNames): boolean {
  if (typeof reference !== 'string') return false;
  const [address = '', fragment = ''] = reference.split('#', 2);
  if (/^https?:\/\/json-schema\.org\//.test(address)) return true;
  if (address !== '') return ids.some((id) => id === address || id.endsWith(`/${address}`));
  if (!fragment.startsWith('/')) return anchors.has(`#${fragment}`);
  // A part with a name of its own counts from there.
  return resolves(root, fragment) || ids.length > 1;
}

function resolves(root: unknown, pointer: string): boolean {
  let value = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = Reflect.get(value, key);
  }
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
