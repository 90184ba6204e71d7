/** How much may wait, without a Redis: when a count is read, and what is counted along.
 *  It must never wait for a clock. */
import { expect, test } from 'vitest';
import { DirectiveRefused } from '../../../src/contract/problem.ts';
import { createCapacity } from '../../../src/queue/capacity.ts';

interface Found {
  limit: number;
  waiting: () => Promise<number>;
  /** Of the service; null = no limit. */
  maxOpen?: number | null;
}

/** A lane `a` of at most `limit`, in which `waiting` are found. */
function laneOf({ limit, waiting, maxOpen = null }: Found) {
  let reads = 0;
  const capacity = createCapacity({
    lanes: { queued: () => ((reads += 1), waiting()) } as never,
    index: { size: async () => 0 } as never,
    memory: { require: async () => {} },
    maxQueuedIn: () => limit,
    maxOpen,
    now: () => 0,
  });
  return { reserve: () => capacity.reserve(new Map([['a', 1]])), reads: () => reads };
}

test.each([
  ['a lane', null],
  ['a lane in a service with a limit of its own', 100],
])(
  'submissions that come while the count of %s is read share it, and each is counted',
  async (_, maxOpen) => {
    const { reserve, reads } = laneOf({ limit: 10, waiting: async () => 3, maxOpen });
    const reserved = await Promise.allSettled(Array.from({ length: 20 }, reserve));
    expect(reads()).toBe(1);
    expect(reserved.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    const refused = reserved
      .filter((each) => each.status === 'rejected')
      .map(({ reason }) => reason as unknown);
    expect(refused.every((reason) => reason instanceof DirectiveRefused)).toBe(true);
  },
);

test('a count that could not be read is read again by the next submission', async () => {
  const answers = [() => Promise.reject(new Error('away')), () => Promise.resolve(0)];
  const { reserve, reads } = laneOf({ limit: 10, waiting: () => answers.shift()?.() ?? Promise.reject() });
  const failed = await Promise.allSettled([reserve(), reserve()]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await reserve();
  expect(reads()).toBe(2);
});
