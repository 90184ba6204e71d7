// Reads a member of a plain object by a name from outside: of a tool, a type, a code.
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
