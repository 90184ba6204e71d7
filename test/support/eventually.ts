/** Checks again until something holds, on a machine that may be busy.
 *  It must not be used where an event can be awaited. */
import { expect, vi } from 'vitest';
import { get } from './public-api.ts';

export function eventually<T>(
  read: () => T | Promise<T>,
  timeout = 20_000,
): ReturnType<typeof expect.poll<T>> {
  return expect.poll(read, { timeout, interval: 20 });
}

/** Resolves when a worker has listed these tools; also outside of a test. */
export async function untilListed(url: string, ...tools: readonly string[]): Promise<void> {
  const listed = async (): Promise<void> => {
    const { body } = await get<{ tools: { name: string }[] }>(`${url}/v1/tools`);
    expect(body.tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...tools]));
  };
  await vi.waitFor(listed, { timeout: 30_000, interval: 50 });
}
