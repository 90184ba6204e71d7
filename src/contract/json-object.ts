// Tells an object with members from every other value: neither null nor a list.
// Must never look into the object.

/** Whether a value is an object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
