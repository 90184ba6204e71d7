// Converts tool names to names that providers allow, and back: `everything.get-sum` ↔ `everything_get-sum`.
// Must never give two tools of one call the same name, nor depend on the order in which they are listed.
import { hash } from 'node:crypto';

export interface ToolNames {
  /** The name for the provider. Throws for a name that was not given at creation: it could not be decoded. */
  encode(name: string): string;
  /** Name of the tool that the model calls; an unknown name is returned unchanged. */
  decode(wireName: string): string;
}

/** Names that every provider accepts. */
const WIRE_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const MAX_CHARACTERS = 64;
/** Providers without structured output get a tool of this name instead. */
const RESERVED: ReadonlySet<string> = new Set(['json']);
const DIGEST_CHARACTERS = 8;

/** The names of one call; the same set gives the same names, so that prompts can be cached. */
export function toolNames(names: Iterable<string>): ToolNames {
  const wireNames = wireNamesOf(new Set(names));
  const ours = new Map([...wireNames].map(([name, wireName]) => [wireName, name]));
  return {
    encode(name) {
      const wireName = wireNames.get(name);
      if (wireName === undefined) throw new Error(`the tool "${name}" is not part of the call`);
      return wireName;
    },
    decode: (wireName) => ours.get(wireName) ?? ours.get(withoutHarmony(wireName)) ?? wireName,
  };
}

/** Servers of gpt-oss may leave its routing in a name: `functions.read`, `read<|channel|>commentary`. */
function withoutHarmony(wireName: string): string {
  const [name = ''] = wireName.split('<|', 1);
  return name.startsWith('functions.') ? name.slice('functions.'.length) : name;
}

function wireNamesOf(names: ReadonlySet<string>): Map<string, string> {
  const wireNames = new Map<string, string>();
  const odd: string[] = [];
  for (const name of names) {
    if (isWireName(name)) wireNames.set(name, name);
    else odd.push(name);
  }
  const slugs = Map.groupBy(odd, slugOf);
  const taken = new Set<string>(wireNames.keys());
  for (const [slug, sharers] of [...slugs].toSorted(byName)) {
    const isFree = sharers.length === 1 && isWireName(slug) && !taken.has(slug);
    for (const name of sharers.toSorted()) {
      const wireName = isFree ? slug : distinctName(slug, name, taken);
      taken.add(wireName);
      wireNames.set(name, wireName);
    }
  }
  return wireNames;
}

/** The providers' clients keep names in plain objects: a name that every object inherits would be lost. */
function isWireName(name: string): boolean {
  return WIRE_NAME.test(name) && !RESERVED.has(name) && !(name in Object.prototype);
}

function slugOf(name: string): string {
  const slug = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_CHARACTERS);
  return /^[A-Za-z_]/.test(slug) ? slug : `_${slug}`.slice(0, MAX_CHARACTERS);
}

/** The slug with a digest of the whole name; a longer digest while the name is taken. */
function distinctName(slug: string, name: string, taken: ReadonlySet<string>): string {
  const digest = hash('sha256', name, 'hex');
  for (let length = DIGEST_CHARACTERS; ; length += 1) {
    const suffix = `_${digest.slice(0, length)}`;
    const wireName = `${slug.slice(0, MAX_CHARACTERS - suffix.length)}${suffix}`;
    if (!taken.has(wireName) || length >= MAX_CHARACTERS - 2) return wireName;
  }
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}
