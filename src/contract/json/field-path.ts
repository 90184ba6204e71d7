// The spelling of a place inside a JSON value, as in `directives[3].arguments.a`.
// Must never grow with the input: a path is for a person to read.

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;
const MAX_PATH_CHARACTERS = 256;

/** Path of a field as text, such as `directives[0].tool_name`. */
export function fieldPath(keys: readonly PropertyKey[], prefix = ''): string {
  let path = prefix;
  for (const key of keys) {
    path = appendKey(path, key);
    if (path.length > MAX_PATH_CHARACTERS) return `${path.slice(0, MAX_PATH_CHARACTERS)}…`;
  }
  return path;
}

function appendKey(path: string, key: PropertyKey): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  const name = String(key);
  if (!PLAIN_KEY.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}
