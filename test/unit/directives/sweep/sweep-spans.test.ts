/** What the sweeper does with the note of a process's spans: the process lives, is dead, or nobody knows it.
 *  It must not need Redis: who is there is a parameter. */
import { expect, test } from 'vitest';
import type { PresentWorker } from '../../../../src/store/catalog/workers.ts';
import type { RunHead } from '../../../../src/store/run/run-journal.ts';
import { SPAN_ENTRY } from '../../../../src/directives/read/span-note.ts';
import { createSpanSweep } from '../../../../src/directives/sweep/sweep-spans.ts';
import { NO_SPANS } from '../../../../src/platform/telemetry/traces/spans.ts';

const NOW = 1_000_000_000;
const HOUR_MS = 3_600_000;
const UNDER = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const POST = {
  place: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentId: null },
  name: 'POST /mcp',
  kind: 'server',
  attributes: {},
  error: null,
};

interface Scene {
  /** Of the note, by the clock of its process. */
  at: number;
  /** null: the process has never said that it is there, or its entry is gone. */
  seenAt: number | null;
  isTracing?: boolean;
}

/** What became of the note, and the events of each span that was reported. */
async function swept({ at, seenAt, isTracing = true }: Scene): Promise<unknown[]> {
  const done: unknown[] = [];
  const note = { by: 'p1', at, version: null, under: UNDER, sent: [], isSent: false };
  const spans = [{ ...POST, startedAt: at, endedAt: at }];
  const sweep = createSpanSweep({
    journal: { directive: async () => null, envelope: async () => null },
    runs: { head: async () => ({ version: 3 }) as RunHead },
    index: {
      forget: () => void done.push('forgotten'),
      lookAgain: async (_entry, dueAt) => void done.push(dueAt),
    },
    spans: {
      ...NO_SPANS,
      under: () => (isTracing ? { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) } : null),
      report: (span) => void done.push(span.events?.map(({ name }) => name)),
    },
    workers: { known: knownAs(seenAt) },
  });
  const id = SPAN_ENTRY + JSON.stringify({ ...note, spans });
  await sweep({ requestId: 'r', id, missedBefore: false, takenAs: '0' }, NOW);
  return done;
}

function knownAs(seenAt: number | null) {
  const present = seenAt === null ? [] : [{ id: 'p1', seenAt } as PresentWorker];
  return { current: async () => present, recheck: async () => present };
}

const ALIVE = NOW - 100;
const REPORTED = [['process.lost'], 'forgotten'];

test('of a process that lives it is looked at again', async () => {
  expect(await swept({ at: NOW - 5_000, seenAt: ALIVE })).toEqual([NOW + 5_000]);
});

test.each([
  ['has a POST open for an hour', NOW - HOUR_MS],
  ['has a clock that is an hour ahead', NOW + HOUR_MS],
])('of a process that lives and %s it is forgotten, and nothing is reported', async (_what, at) => {
  expect(await swept({ at, seenAt: ALIVE })).toEqual(['forgotten']);
});

test.each([
  ['was silent too long', NOW - 5_000, NOW - 11_000],
  ['died before it ever said that it was there', NOW - 5_000, null],
  ['held it for an hour', NOW - HOUR_MS, null],
  ['had a clock that was an hour ahead', NOW + HOUR_MS, null],
])('of a process that %s it is reported', async (_what, at, seenAt) => {
  expect(await swept({ at, seenAt })).toEqual(REPORTED);
});

test.each([
  ['leaves it to the others', NOW - 5_000, NOW + 5_000],
  ['forgets it when it is old', NOW - HOUR_MS, 'forgotten'],
  ['forgets it when its clock was wrong', NOW + HOUR_MS, 'forgotten'],
])('a sweeper without tracing %s', async (_what, at, end) => {
  expect(await swept({ at, seenAt: null, isTracing: false })).toEqual([end]);
});
