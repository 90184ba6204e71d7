// Reading a plain object under a name that comes from outside: a tool's, a type's, a code's.
// Must never answer with what every object inherits: "constructor" and "toString" are names like any other.

/** What the object itself holds under `name`; undefined when it holds nothing there. */
export function ownMember<T>(object: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Sets a member of the object itself, also under "__proto__", where an assignment would change its prototype. */
export function setOwnMember<T>(object: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
