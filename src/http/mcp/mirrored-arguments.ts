/** Arguments that a client repeats as headers, because the schema of the tool marks them with `x-mcp-header`.
 *  It must never pass a call whose headers say other things than its body: a proxy may have decided by them. */
import { isObject } from '../../contract/json/json-object.ts';

type Members = Readonly<Record<string, unknown>>;

interface Mirrored {
  readonly header: string;
  readonly path: readonly string[];
}

/** A schema of a tool is bounded in bytes; one that is nested deeper mirrors nothing. */
const MAX_DEPTH = 32;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const ENCODED = /^=\?base64\?(?<payload>.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** The first header that is missing, malformed or different; null: they agree. */
export function mismatchedHeader(schema: Members, args: unknown, headers: Headers): string | null {
  const wrong = mirroredArguments(schema).find(({ header, path }) => {
    const value = valueAt(args, path);
    const written = writtenAs(value);
    return written !== null && !agrees(headers.get(header), value, written);
  });
  return wrong?.header ?? null;
}

function mirroredArguments(schema: Members, path: readonly string[] = []): Mirrored[] {
  const { properties } = schema;
  if (!isObject(properties) || path.length >= MAX_DEPTH) return [];
  return Object.entries(properties).flatMap(([key, child]) => {
    if (!isObject(child)) return [];
    const here = [...path, key];
    const name = child['x-mcp-header'];
    const own = typeof name === 'string' && NAME.test(name);
    return [
      ...(own ? [{ header: `Mcp-Param-${name}`, path: here }] : []),
      ...mirroredArguments(child as Members, here),
    ];
  });
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** null: a value that no client can write as a header. */
function writtenAs(value: unknown): string | null {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value);
  return typeof value === 'number' && (Number.isSafeInteger(value) || !Number.isInteger(value))
    ? String(value)
    : null;
}

function agrees(header: string | null, value: unknown, written: string): boolean {
  const said = header === null ? null : decoded(header);
  if (said === null) return false;
  return typeof value === 'number' && DECIMAL.test(said) ? Number(said) === value : said === written;
}

/** null: it claims to be Base64 of UTF-8, and is not. */
function decoded(header: string): string | null {
  const payload = ENCODED.exec(header)?.groups?.['payload'];
  if (payload === undefined) return header;
  if (!BASE64.test(payload)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(payload, 'base64'));
  } catch {
    return null;
  }
}
