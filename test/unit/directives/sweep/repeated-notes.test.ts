/** Which requests the sweeper notes for the list again.
 *  It must never need Redis. */
import { beforeEach, expect, test } from 'vitest';
import type { DirectiveRecord } from '../../../../src/store/request/records.ts';
import { createRepeatedNotes } from '../../../../src/directives/sweep/sweep-directives.ts';

const NOW = 1_000_000_000;
const waits = (forMs: number) => ({ acceptedAt: NOW - forMs, begin: null }) as DirectiveRecord;
const LONG = waits(30_000);
const enqueued = { kind: 'enqueue', now: NOW } as const;

let noted: string[] = [];
let clockMs = 0;
beforeEach(() => {
  noted = [];
  clockMs = 0;
});
const open = (isListed?: (requestId: string) => Promise<boolean>) =>
  createRepeatedNotes((requestId) => noted.push(requestId), { isListed, clock: () => clockMs });

test('a request whose directives wait on is noted once a minute, however many there are', () => {
  const note = open();
  for (let n = 0; n < 100; n += 1) note('r', LONG, enqueued);
  note('other', LONG, { kind: 'look_again', now: NOW });
  expect(noted).toEqual(['r', 'other']);
  clockMs = 60_000;
  note('r', LONG, enqueued);
  expect(noted).toEqual(['r', 'other', 'r']);
});

test('the first look at a directive and what becomes of one are noted each time', () => {
  const note = open();
  note('r', LONG, enqueued);
  note('r', waits(6_000), enqueued);
  note('r', LONG, { kind: 'expire', now: NOW });
  note('r', LONG, { kind: 'forget', now: NOW });
  expect(noted).toHaveLength(4);
});

test('what the list has as it is is noted by no repeated look, and by every other one', async () => {
  const note = open(async (requestId) => {
    if (requestId === 'unknown') throw new Error('Redis is away');
    return requestId === 'listed';
  });
  for (const requestId of ['listed', 'changed', 'unknown']) note(requestId, LONG, enqueued);
  await expect.poll(() => noted).toEqual(['changed', 'unknown']);
  note('listed', waits(6_000), enqueued);
  note('listed', LONG, { kind: 'expire', now: NOW });
  expect(noted.slice(2)).toEqual(['listed', 'listed']);
});
