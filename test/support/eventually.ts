/** Checks again until something holds, on a machine that may be busy.
 *  It must not be used where an event can be awaited. */
import { expect, vi } from 'vitest';
import { get } from './public-api.ts';

/** Within the time limit of a test, and longer than a start of several processes takes on a busy machine. */
const LONGEST_WAIT_MS = 90_000;
const INTERVAL_MS = 50;

/** An assertion about what `read` returns, which has time to become true. */
export function eventually<T>(
  read: () => T | Promise<T>,
  timeout = LONGEST_WAIT_MS,
): ReturnType<typeof expect.poll<T>> {
  return expect.poll(read, { timeout, interval: INTERVAL_MS });
}

/** Resolves with the result of `check` as soon as it does not throw; also outside of a test. */
export async function untilHolds<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: LONGEST_WAIT_MS, interval: INTERVAL_MS });
}

/** Resolves when a worker has listed these tools; also outside of a test. */
export async function untilListed(url: string, ...tools: readonly string[]): Promise<void> {
  await untilHolds(async () => {
    const { body } = await get<{ tools: { name: string }[] }>(`${url}/v1/tools`);
    expect(body.tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...tools]));
  });
}
