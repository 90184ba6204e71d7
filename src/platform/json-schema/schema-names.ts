/** Targets of references in a schema: its own parts, and the schemas of the standard.
 *  It must never fetch anything. */

export interface SchemaNames {
  readonly root: unknown;
  /** Ids of the schema and of those inside it, and the text after each of their last slashes. */
  readonly ids: ReadonlySet<string>;
  /** Whether a schema inside has a name of its own too. */
  readonly hasManyIds: boolean;
  /** With their `#`. */
  readonly anchors: ReadonlySet<string>;
}

export function namesIn(root: unknown): SchemaNames {
  const ids = new Set<string>();
  let count = 0;
  const anchors = new Set<string>(['#']);
  const open: unknown[] = [root];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, value] of Object.entries(next)) {
      if (typeof value === 'object') open.push(value);
      if (typeof value !== 'string') continue;
      if (key === '$anchor' || key === '$dynamicAnchor') anchors.add(`#${value}`);
      if (key !== '$id') continue;
      if (value.startsWith('#')) {
        anchors.add(value);
        continue;
      }
      count += 1;
      for (const ending of endingsOf(value)) ids.add(ending);
    }
  }
  return { root, ids, hasManyIds: count > 1, anchors };
}

/** A relative reference has no more steps than this; so that an id of many slashes costs little. */
const MAX_STEPS = 16;

/** The id, and what follows each of its last slashes: a relative reference may name either. */
function endingsOf(id: string): string[] {
  const endings = [id];
  let slash = id.lastIndexOf('/');
  for (; slash > 0 && endings.length <= MAX_STEPS; slash = id.lastIndexOf('/', slash - 1))
    endings.push(id.slice(slash + 1));
  return slash === 0 ? [...endings, id.slice(1)] : endings;
}

export function isKnownReference(
  reference: unknown,
  { root, ids, hasManyIds, anchors }: SchemaNames,
): boolean {
  if (typeof reference !== 'string') return false;
  const [address = '', fragment = ''] = reference.split('#', 2);
  if (/^https?:\/\/json-schema\.org\//.test(address)) return true;
  if (address !== '') return ids.has(address);
  if (!fragment.startsWith('/')) return anchors.has(`#${fragment}`);
  // A part with a name of its own counts from there.
  return resolves(root, fragment) || hasManyIds;
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
