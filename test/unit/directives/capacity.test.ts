/** How much may wait, without a Redis: when a count is read, and what is counted along.
 *  It must never wait for a clock. */
import { expect, test } from 'vitest';
import { DirectiveRefused } from '../../../src/contract/problem.ts';
import { createCapacity } from '../../../src/directives/capacity.ts';

const OF = { requestId: 'r', ids: ['d'] };

interface Found {
  limit: number;
  waiting: () => Promise<number>;
  /** Of the service; null = no limit. */
  maxOpen?: number | null;
  /** What left the share of its tenant is added to it. */
  left?: string[];
}

/** A lane `a` of at most `limit`, in which `waiting` are found. */
function laneOf({ limit, waiting, maxOpen = null, left = [] }: Found) {
  let reads = 0;
  const capacity = createCapacity({
    queued: () => ((reads += 1), waiting()),
    index: { size: async () => 0 } as never,
    memory: { require: async () => {} },
    maxQueuedIn: () => limit,
    maxOpen,
    enterTenant: async () => async (ids) => void left.push(...ids),
    now: () => 0,
  });
  return { reserve: () => capacity.reserve(new Map([['a', 1]]), OF), reads: () => reads };
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

test('what does not fit, or could not be counted, leaves the share of its tenant', async () => {
  const left: string[] = [];
  const answers = [() => Promise.reject(new Error('away')), async () => 1];
  const waiting = () => answers.shift()?.() ?? Promise.resolve(1);
  const { reserve } = laneOf({ limit: 1, waiting, left });
  await expect(reserve()).rejects.toThrow('away');
  await expect(reserve()).rejects.toBeInstanceOf(DirectiveRefused);
  expect(left).toEqual(['d', 'd']);
});
