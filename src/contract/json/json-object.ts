// Reads of plain objects: whether a value is one, and its own members by names from outside.
// Must never return an inherited member: "constructor" and "toString" are ordinary names.

/** Own member `name` of an object; undefined where it has none. */
export function ownMember<T>(object: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Sets a member of the object itself, also under "__proto__", where an assignment would change its prototype. */
export function setOwnMember<T>(object: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Whether a value is an object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
