/** Which requests the sweeper notes for the list again.
 *  It must never need Redis. */
import { beforeEach, expect, test } from 'vitest';
import type { DirectiveRecord } from '../../../src/journal/records.ts';
import { createRepeatedNotes } from '../../../src/queue/repeated-notes.ts';

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
const open = () =>
  createRepeatedNotes(
    (requestId) => noted.push(requestId),
    () => clockMs,
  );

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
