/** Checks again until something holds, on a machine that may be busy.
 *  It must not be used where an event can be awaited. */
import { expect } from 'vitest';

export function eventually<T>(read: () => T | Promise<T>) {
  return expect.poll(read, { timeout: 20_000, interval: 20 });
}
