/** What a pipeline leaves in Redis once its work has ended.
 *  It must never be asked while a worker may still take something. */
import { expect } from 'vitest';
import { untilHolds } from './eventually.ts';
import type { Pipeline } from './pipeline.ts';

/** What remains when every request has closed and every worker has stopped: no key without an expiry. */
export async function expectNothingLeft(open: Pipeline): Promise<void> {
  await untilHolds(async () => expect(await open.jobs()).toBe(0));
  await untilHolds(async () => expect(await open.index.size()).toBe(0));
  expect(await open.keysWithoutExpiry()).toEqual([]);
  expect(open.errors).toEqual([]);
}
