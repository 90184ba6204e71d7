/** Dead letters on a real Redis: what gets on the list, how it is read, and what a redrive does.
 *  It must never expect an entry at once: it is written after the end. */
import type { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import type { DeadLetter } from '../../../src/contract/directive/dead-letter.ts';
import { deadLetterPageSchema } from '../../../src/contract/directive/dead-letter.ts';
import { type Execution } from '../../../src/worker/executors/definition.ts';
import { scan } from '../../../src/directives/change/redrive.ts';
import { untilHolds } from '../../support/eventually.ts';
import { done, fails } from '../../support/executors.ts';
import { dueAt, failureOf, LANE, toolCall } from '../../support/journal.ts';
import { type Call, call, errorOf, openPipeline, refusal } from '../../support/pipeline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

/** Ends as the directive's arguments say: with `{fail: type}`, or in success. */
async function asTold({ arguments: { fail } }: { arguments: Record<string, unknown> }): Promise<Execution> {
  return typeof fail === 'string' ? fails(fail) : done;
}

const failing = (type: string, fields: Partial<Call> = {}): Call =>
  call({ arguments: { fail: type }, ...fields });

async function listed(count: number): Promise<DeadLetter[]> {
  await untilHolds(async () => expect(await open.dead.size()).toBe(count));
  const page = await open.client.deadLetters();
  expect(deadLetterPageSchema.parse(page)).toEqual(page);
  expect(page).toMatchObject({ next: null });
  return page.dead_letters;
}

/** Ends each call in turn, so that the list has their order. */
async function ended(...calls: readonly Call[]): Promise<void> {
  for (const [position, each] of calls.entries()) {
    await open.client.execute(each);
    await untilHolds(async () => expect(await open.dead.size()).toBe(position + 1));
  }
}

/** As `ended`; the worker stops before what follows. */
async function endedAndStopped(...calls: readonly Call[]): Promise<void> {
  const worker = await open.startWorker(asTold);
  await ended(...calls);
  await worker.stop();
}

/** How often Redis was asked for a range of a sorted set, as the list of dead letters is. */
async function rangesRead(): Promise<number> {
  const stats = await (open.connection as Redis).info('commandstats');
  return Number(/cmdstat_zrangebyscore:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

const NOTHING = { redriven: [], not_found: [], refused: [], left: 0 };

const names = (letters: readonly { id: string }[]): string[] => letters.map(({ id }) => id);

describe('the list', () => {
  test('holds what failed, once, and neither what succeeded nor what was cancelled', async () => {
    const cancelled = call();
    await open.client.submit(cancelled);
    await open.client.cancel(cancelled.request_id);
    const worker = await open.startWorker(asTold);
    await open.client.execute(call());
    const failed = failing('tool_error', { max_retries: 1 });
    const signal = await open.client.execute(failed);
    await worker.stop();
    const [letter, ...others] = await listed(1);
    expect(others).toEqual([]);
    expect(letter).toEqual({
      request_id: failed.request_id,
      id: 'a',
      type: 'tool_exec',
      lane: LANE,
      name: 'test.echo',
      error: errorOf(signal),
      attempts: 1,
      ended_at: expect.any(String) as string,
    });
    // The sweeper checks the job of a directive that was cancelled before it was taken once more. The others leave after their end.
    await untilHolds(async () => {
      const left = await dueAt(open, Number.MAX_SAFE_INTEGER);
      expect(left.map(({ requestId }) => requestId)).toEqual([cancelled.request_id]);
    });
  });

  test('gets from the sweeper what a worker did not list because it died after the end', async () => {
    const directive = call();
    await open.client.submit(directive);
    const given = toolCall({ request_id: directive.request_id, id: 'a' });
    const ref = await open.claimed(given);
    await open.journal.finish(ref, 'failed', [failureOf(given)]);
    expect(await listed(0)).toEqual([]);
    const sweeper = open.sweeper();
    for (let times = 0; times < 2; times += 1) {
      await open.index.add([ref], 0);
      await sweeper.sweep();
      expect(await listed(1)).toMatchObject([{ id: 'a', error: { type: 'timeout' } }]);
    }
    open.index.flush();
    await untilHolds(async () => expect(await open.index.size()).toBe(0));
  });

  test('keeps its entries as long as their requests by the clock of Redis, not of a process', async () => {
    await open.startWorker(asTold);
    const inTenDays = Date.now() + 864_000_000;
    vi.useFakeTimers({ toFake: ['Date'], now: inTenDays });
    try {
      await ended(failing('auth'));
      await open.dead.expire(() => 60_000);
      expect(await open.dead.size()).toBe(1);
    } finally {
      vi.useRealTimers();
    }
    await untilHolds(async () => {
      await open.dead.expire(() => 0);
      expect(await open.dead.size()).toBe(0);
    });
  });

  test('is filtered by lane and by type of error, and paged without gap or repeat', async () => {
    await open.startWorker(asTold);
    const types = ['timeout', 'tool_error', 'timeout', 'auth', 'timeout'];
    await ended(...types.map((type, number) => failing(type, { id: `c-${number}` })));
    const { client } = open;
    expect((await client.deadLetters({ lane: LANE })).dead_letters).toHaveLength(5);
    expect((await client.deadLetters({ lane: 'tool.other' })).dead_letters).toEqual([]);
    expect((await client.deadLetters({ lane: LANE, error_type: 'network' })).dead_letters).toEqual([]);

    const paged = async (order?: 'newest' | 'oldest'): Promise<string[]> => {
      const seen: string[] = [];
      let next: string | null = null;
      do {
        const after: { after?: string } = next === null ? {} : { after: next };
        const page = await client.deadLetters({ ...after, limit: 2, error_type: 'timeout', order });
        expect([page.dead_letters.length <= 2, page.total]).toEqual([true, 5]);
        seen.push(...names(page.dead_letters));
        next = page.next;
      } while (next !== null);
      return seen;
    };
    // The 41st of a newcomer's findings: the newest failure was on the last page.
    expect(await paged()).toEqual(['c-4', 'c-2', 'c-0']);
    expect(await paged('oldest')).toEqual(['c-0', 'c-2', 'c-4']);
  });

  /** Issue 33, point 5, and issue 38: a letter that is removed between two pages must not shift the others. */
  test.each(['oldest', 'newest'] as const)(
    'is seen once by a pass over the list while others leave and join it: %s first',
    async (order) => {
      const { dead } = open;
      const entryAt = (at: number) => ({ requestId: `r-${at}`, id: 'a', lane: null, errorType: 'auth' });
      const entries = Array.from({ length: 450 }, (_, at) => entryAt(at));
      // Many have the same instant.
      await Promise.all(entries.map(async (entry) => dead.add(entry)));
      const seen: string[] = [];
      for await (const { requestId, endedAt: _endedAt, ...entry } of scan(
        { dead, tenant: 'default' },
        {},
        order,
      )) {
        seen.push(requestId);
        if (seen.length % 3 === 0) await dead.remove({ requestId, ...entry });
        if (seen.length % 100 === 0) await dead.add(entryAt(1_000 + seen.length));
      }
      const first = seen.filter((id) => Number(id.slice(2)) < 1_000);
      expect(new Set(first)).toEqual(new Set(entries.map(({ requestId }) => requestId)));
      expect(new Set(seen).size).toBe(seen.length);
    },
  );

  test('is counted by lane, type of error and hour, and filtered by time', async () => {
    await open.startWorker(asTold);
    await ended(
      ...['timeout', 'auth', 'timeout'].map((type, number) => failing(type, { id: `c-${number}` })),
    );
    const { client } = open;
    const { groups, total, groups_left_out } = await client.deadLetterGroups();
    expect([total, groups_left_out]).toEqual([3, 0]);
    expect(groups).toMatchObject([
      { lane: LANE, error_type: 'timeout', count: 2 },
      { lane: LANE, error_type: 'auth', count: 1 },
    ]);
    const [largest] = groups;
    expect(largest?.hours.reduce((sum, { count }) => sum + count, 0)).toBe(2);
    const first = largest?.first_at ?? '';
    const afterAll = new Date(Date.parse(largest?.last_at ?? '') + 60_000).toISOString();
    const listed = async (since: string, until: string): Promise<number> =>
      (await client.deadLetters({ since, until, error_type: 'timeout' })).dead_letters.length;
    expect(await listed(first, afterAll)).toBe(2);
    expect(await listed(afterAll, '2999-01-01T00:00:00Z')).toBe(0);
    expect(await client.redrive({ since: afterAll })).toMatchObject({ redriven: [], left: 0 });
    expect((await client.redrive({ until: afterAll, error_type: 'auth' })).redriven).toHaveLength(1);
  });

  test('omits what the journal has deleted, and a redrive removes it', async () => {
    await open.startWorker(asTold);
    const directive = failing('auth');
    await ended(directive);
    await open.connection.del(...open.keys.request(directive.request_id));
    expect((await open.client.deadLetters()).dead_letters).toEqual([]);
    expect(await open.client.redrive({ all: true })).toEqual(NOTHING);
    expect(await open.dead.size()).toBe(0);
  });
});

describe('a redrive', () => {
  test('that fails again can be redriven again', async () => {
    await open.startWorker(asTold);
    const directive = failing('auth', { metadata: { note: 'kept' } });
    await ended(directive);
    for (const id of ['a.redrive-1', 'a.redrive-2']) {
      const { redriven } = await open.client.redrive({ error_type: 'auth' });
      expect(redriven).toMatchObject([{ to: { id } }]);
      await open.client.result(directive.request_id, id);
      expect(names(await listed(1))).toEqual([id]);
    }
    const view = await open.client.directive(directive.request_id, 'a.redrive-2');
    expect(view?.directive.metadata).toMatchObject({ note: 'kept', redrive_of: { id: 'a.redrive-1' } });
    expect(await open.client.directive(directive.request_id, 'a')).toMatchObject({ status: 'failed' });
  });

  test('by filter takes the oldest up to its limit, and reports how many are left', async () => {
    const types = ['auth', 'timeout', 'auth', 'auth'];
    await endedAndStopped(...types.map((type, number) => failing(type, { id: `c-${number}` })));
    const first = await open.client.redrive({ error_type: 'auth', limit: 2 });
    expect(names(first.redriven.map(({ from }) => from))).toEqual(['c-0', 'c-2']);
    expect(first.left).toBe(1);
    const second = await open.client.redrive({ lane: LANE, error_type: 'auth' });
    expect(names(second.redriven.map(({ from }) => from))).toEqual(['c-3']);
    expect(second.left).toBe(0);
    expect(names(await listed(1))).toEqual(['c-1']);
  });

  test('is said before it is done, without what was redriven already', async () => {
    const [first, second] = [failing('auth'), failing('auth')];
    await endedAndStopped(first, second);
    await listed(2);
    const named = [first, second].map(({ request_id }) => ({ request_id, id: 'a' }));
    const dry = { directives: [...named, { request_id: 'never', id: 'a' }], dry_run: true };
    const not_found = [{ request_id: 'never', id: 'a' }];
    expect(await open.client.redrive(dry)).toEqual({ ...NOTHING, found: named, not_found });
    expect(await listed(2)).toHaveLength(2);
    await open.client.redrive({ directives: named.slice(0, 1) });
    // As by a sweeper that looks at its end once more.
    await open.dead.add({ requestId: first.request_id, id: 'a', lane: LANE, errorType: 'auth' });
    expect(await open.client.redrive(dry)).toMatchObject({ found: named.slice(1), redriven: [] });
    expect(await open.client.redrive({ all: true, dry_run: true })).toMatchObject({ found: named.slice(1) });
  });

  test('goes on when one successor cannot be made, and reports which and why', async () => {
    const blocked = failing('auth', { tool_name: 'test.one' });
    const others = ['two', 'three'].map((tool) => failing('auth', { tool_name: `test.${tool}` }));
    await endedAndStopped(blocked, ...others);
    const { request_id } = blocked;
    await open.client.submit(call({ request_id, id: 'a.redrive-1', tool_name: 'test.other' }));
    const answer = await open.client.redrive({ all: true, limit: 2 });
    expect(answer.redriven.map(({ from }) => from.request_id)).toEqual(others.map((each) => each.request_id));
    expect(answer.refused).toMatchObject([{ from: { request_id, id: 'a' }, code: 'id_conflict' }]);
    expect(answer.left).toBe(1);
    expect((await listed(1))[0]).toMatchObject({ request_id, id: 'a' });
    const named = { directives: [{ request_id, id: 'a' }] };
    expect(await open.client.redrive(named)).toMatchObject({ redriven: [], not_found: [], left: 1 });
  });

  // Issue 33, point 5: each round of a redrive read the whole list again.
  test('reads the list once, however many are refused', async () => {
    const blocked = Array.from({ length: 4 }, () => failing('auth', { tool_name: 'test.one' }));
    await endedAndStopped(...blocked, failing('auth'));
    for (const { request_id } of blocked)
      await open.client.submit(call({ request_id, id: 'a.redrive-1', tool_name: 'test.other' }));
    const before = await rangesRead();
    const answer = await open.client.redrive({ all: true, limit: 1 });
    expect(answer).toMatchObject({ redriven: [{}], left: 4 });
    expect(answer.refused).toHaveLength(4);
    expect((await rangesRead()) - before).toBe(1);
  });

  test('of a caller that has left changes nothing more', async () => {
    await endedAndStopped(failing('auth'), failing('auth'));
    await open.client.redrive({ all: true }, { signal: AbortSignal.abort() });
    expect(await listed(2)).toHaveLength(2);
  });

  test('that meets a full lane reports what it has redriven, and what is left', async () => {
    const calls = ['a', 'b', 'c', 'd'].map((id) => failing('auth', { id }));
    await endedAndStopped(...calls);
    const narrow = await open.submitter({ maxQueued: 2 });
    const answer = await narrow.redrive({ all: true });
    expect(names(answer.redriven.map(({ from }) => from))).toEqual(['a', 'b']);
    expect(answer.refused.map(({ from, code }) => [from.id, code])).toEqual([
      ['c', 'lane_full'],
      ['d', 'lane_full'],
    ]);
    expect(answer.left).toBe(2);
    // Now nothing could be redriven at all: the caller comes back later.
    expect((await refusal(narrow.redrive({ all: true }))).code).toBe('lane_full');
  });

  test('requested by ten at once, and once more, makes one successor', async () => {
    const directive = failing('auth');
    await endedAndStopped(directive);
    const which = { directives: [{ request_id: directive.request_id, id: 'a' }] };
    const answers = await Promise.all(Array.from({ length: 10 }, () => open.client.redrive(which)));
    for (const { redriven, not_found } of answers) expect(redriven.length + not_found.length).toBe(1);
    expect(await open.client.redrive(which)).toEqual({ ...NOTHING, not_found: which.directives });
    const request = await open.client.request(directive.request_id);
    expect(names(request?.directives ?? []).toSorted()).toEqual(['a', 'a.redrive-1']);
    expect(request).toMatchObject({ status: 'open', open: 1 });
  });

  test('stays done when the old directive is submitted again', async () => {
    const directive = failing('auth');
    await endedAndStopped(directive);
    await open.client.redrive({ all: true });
    await open.client.submit(directive);
    const ref = { requestId: directive.request_id, id: 'a' };
    const sweeper = open.sweeper();
    await open.index.add([ref], 0);
    await sweeper.sweep();
    open.index.flush();
    await untilHolds(async () => {
      const due = await dueAt(open, Number.MAX_SAFE_INTEGER);
      expect(due.map(({ id }) => id)).toEqual(['a.redrive-1']);
    });
    expect(await open.dead.size()).toBe(0);
  });

  test('that died between the successor and the list makes no second one', async () => {
    const directive = failing('auth');
    await endedAndStopped(directive);
    const { entries } = await open.dead.page('default', 'oldest', null, 10);
    await open.client.redrive({ all: true });
    for (const entry of entries) await open.dead.add(entry);
    expect(await open.client.redrive({ all: true })).toMatchObject({
      redriven: [{ to: { id: 'a.redrive-1' } }],
    });
    expect((await open.client.request(directive.request_id))?.directives).toHaveLength(2);
    expect(await open.dead.size()).toBe(0);
  });
});
