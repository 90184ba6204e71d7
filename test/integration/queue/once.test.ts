/** Directives under a key, on a real Redis: once in a window, once after quiet, one at a time; whatever comes together or twice.
 *  It must never judge an instant by another clock than that of Redis. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import type { Submission } from '../../../src/contract/directive/submission.ts';
import { eventually } from '../../support/eventually.ts';
import { aborted, done, fails, gate } from '../../support/executors.ts';
import { acceptance, claimOf, LANE, RETENTION_MS, toolCall } from '../../support/journal.ts';
import { errorOf, openPipeline, refusal } from '../../support/pipeline.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const HOUR_MS = 3_600_000;

function under(fields: object, text = 'one'): SubmittedDirective {
  return { type: 'tool_exec', tool_name: 'test.echo', arguments: { text }, ...fields } as SubmittedDirective;
}

const dedupe = (key: string, text?: string, window_ms = 30_000) =>
  under({ dedupe: { key, window_ms } }, text);
const debounce = (key: string, text?: string, fields: object = {}) =>
  under({ debounce: { key, quiet_ms: HOUR_MS, ...fields } }, text);
const singleton = (key: string, when_open: string, text?: string) =>
  under({ singleton: { key, when_open } }, text);

interface Answer {
  request_id: string;
  id: string;
  status: string;
  outcome: string | undefined;
  until: number;
}

function answerOf({ request_id, directives: [entry] }: Submission): Answer {
  const { id = '', status = '', once } = entry ?? {};
  return { request_id, id, status, outcome: once?.outcome, until: Date.parse(once?.until ?? '') };
}

const submit = async (directive: SubmittedDirective, idempotencyKey?: string): Promise<Answer> =>
  answerOf(await open.client.submit(directive, idempotencyKey === undefined ? {} : { idempotencyKey }));

const guardOf = ({ request_id }: { request_id: string }): string =>
  `${open.prefix}:{${request_id.slice(0, request_id.lastIndexOf('.'))}}:once`;

/** As if so much time had passed for what waits under a key. */
async function letPass(given: Answer, ms: number): Promise<void> {
  const [state] = open.keys.request(given.request_id);
  const moved = (text: string | null): string =>
    (text ?? '').replaceAll(/\d{9,}/g, (at) => String(Number(at) - ms));
  for (const field of ['next_attempt_at', 'begin']) {
    const name = `${given.id}|${field}`;
    const text = await open.connection.hget(state, name);
    if (text !== null) await open.connection.hset(state, name, moved(text));
  }
  for (const field of ['until', 'latest']) {
    const text = await open.connection.hget(guardOf(given), field);
    if (text !== null) await open.connection.hset(guardOf(given), field, moved(text));
  }
  await open.connection.zincrby(open.keys.later[0], -ms, `${given.request_id}/${given.id}|${LANE}`);
}

const textOf = async ({ request_id, id }: Answer): Promise<unknown> => {
  const view = await open.client.directive(request_id, id);
  return (view?.directive as { arguments?: { text?: unknown } } | undefined)?.arguments?.text;
};

/** A worker; the texts of what it executes. */
async function startNoting(): Promise<unknown[]> {
  const ran: unknown[] = [];
  await open.startWorker(async (directive) => {
    ran.push(directive.arguments['text']);
    return done;
  });
  return ran;
}

/** A worker whose calls end when `go` is opened, and a sweeper. */
async function startHeld() {
  const [started, go] = [gate(), gate()];
  const ran: unknown[] = [];
  await open.startWorker(async (directive) => {
    ran.push(directive.arguments['text']);
    started.open();
    await go.passed;
    return done;
  });
  await open.sweeper().start();
  return { ran, started, go };
}

describe('dedupe', () => {
  test('is the first one for all of the window, and another one after it', async () => {
    const key = randomUUID();
    const first = await submit(dedupe(key));
    expect(first).toMatchObject({ status: 'accepted', outcome: 'began' });
    const second = await submit(dedupe(key, 'two'));
    expect(second).toEqual({ ...first, status: 'existing', outcome: 'deduplicated' });
    expect(await textOf(second)).toBe('one');
    await letPass(first, 30_001);
    const third = await submit(dedupe(key, 'three'));
    expect(third).toMatchObject({ status: 'accepted', outcome: 'began' });
    expect(third.request_id).not.toBe(first.request_id);
  });

  test('two hundred at once make one, and all get its end', async () => {
    const ran = await startNoting();
    const other = await open.submitter();
    const key = randomUUID();
    const ends = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        (n % 2 ? other : open.client).execute(dedupe(key, `t${n}`), { timeoutMs: 90_000 }),
      ),
    );
    expect(ran).toHaveLength(1);
    expect(new Set(ends.map(({ id }) => id)).size).toBe(1);
    await eventually(() => open.jobs()).toBe(0);
  });

  test('keys of tenants, and uses of a key, are apart', async () => {
    const key = randomUUID();
    const answers = [
      await submit(dedupe(key)),
      await submit(debounce(key)),
      await submit(singleton(key, 'refuse')),
    ];
    expect(answers.map(({ outcome }) => outcome)).toEqual(['began', 'began', 'began']);
    expect(new Set(answers.map(({ request_id }) => request_id.slice(0, 37))).size).toBe(3);
  });

  test('a window longer than the answer is kept is refused', async () => {
    const refused = await refusal(open.client.submit(dedupe('k', 'one', 60_001)));
    expect(refused).toMatchObject({ code: 'invalid_body', errors: [{ path: 'dedupe.window_ms' }] });
    expect(refused?.detail).toContain('retention.closed_ms');
  });

  test('what a crowded key leaves is bounded and ends', async () => {
    const key = randomUUID();
    let last = await submit(dedupe(key));
    for (let n = 0; n < 80; n += 1) {
      await letPass(last, 30_001);
      last = await submit(dedupe(key, `t${n}`));
    }
    expect(await open.connection.hlen(guardOf(last))).toBeLessThanOrEqual(2 * 64 + 5);
    expect(await open.connection.pttl(guardOf(last))).toBeGreaterThan(0);
  });
});

describe('debounce', () => {
  test('the last content wins after quiet, under the first ids', async () => {
    const ran = await startNoting();
    await open.sweeper().start();
    const key = randomUUID();
    const first = await submit(debounce(key));
    for (let n = 2; n < 20; n += 1) {
      const next = await submit(debounce(key, `t${n}`));
      expect(next).toMatchObject({ request_id: first.request_id, id: first.id, outcome: 'debounced' });
      expect(next.until).toBeGreaterThanOrEqual(first.until);
    }
    expect(await textOf(first)).toBe('t19');
    const { digest = '' } = (await open.recordOf(first)) ?? {};
    const claim = { ...claimOf(toolCall({ request_id: first.request_id, id: first.id })), digest };
    expect(await open.journal.claim(claim)).toMatchObject({ kind: 'wait' });
    expect(ran).toEqual([]);
    await letPass(first, HOUR_MS);
    await open.resultOf(first);
    expect(ran).toEqual(['t19']);
    const after = await submit(debounce(key, 'again'));
    expect(after).toMatchObject({ status: 'accepted', outcome: 'began' });
    expect(after.request_id).not.toBe(first.request_id);
  });

  test('begins at_most_ms after the first one, however many follow', async () => {
    const key = randomUUID();
    const most = { at_most_ms: HOUR_MS + 1_000 };
    const first = await submit(debounce(key, 'one', most));
    await letPass(first, HOUR_MS - 5_000);
    const second = await submit(debounce(key, 'two', most));
    const now = Number((await open.connection.time())[0]) * 1_000;
    expect(second.until).toBeLessThanOrEqual(now + 8_000);
    expect((await open.recordOf(first))?.begin?.at).toBe(second.until);
  });

  test('what a worker holds of an earlier content it does not execute', async () => {
    const key = randomUUID();
    const first = await submit(debounce(key));
    await letPass(first, HOUR_MS);
    const sweeper = open.sweeper();
    await sweeper.start();
    await eventually(() => open.jobs()).toBe(1);
    // In its lane, and nobody has taken it.
    expect(await submit(debounce(key, 'two'))).toMatchObject({ outcome: 'debounced', id: first.id });
    await letPass(first, HOUR_MS);
    const ran = await startNoting();
    await open.resultOf(first);
    expect(ran).toEqual(['two']);
  });

  test('what has begun is not changed: another one begins', async () => {
    const key = randomUUID();
    const { ran, started, go } = await startHeld();
    const first = await submit(debounce(key));
    await letPass(first, HOUR_MS);
    await started.passed;
    const second = await submit(debounce(key, 'two'));
    expect(second).toMatchObject({ outcome: 'began' });
    go.open();
    await open.resultOf(first);
    expect(ran).toEqual(['one']);
    expect(await textOf(first)).toBe('one');
  });

  test('the same submission once more changes nothing, also after another one and after it began', async () => {
    const key = randomUUID();
    const first = await submit(debounce(key, 'one'), 'a');
    await submit(debounce(key, 'two'), 'b');
    expect(await submit(debounce(key, 'one'), 'a')).toMatchObject({ status: 'existing', id: first.id });
    expect(await textOf(first)).toBe('two');
    expect(await refusal(open.client.submit(debounce(key, 'x'), { idempotencyKey: 'a' }))).toMatchObject({
      code: 'idempotency_conflict',
    });
    await open.startWorker(async () => done);
    await open.sweeper().start();
    await letPass(first, HOUR_MS);
    await open.resultOf(first);
    expect(await submit(debounce(key, 'two'), 'b')).toMatchObject({ request_id: first.request_id });
  });

  test('in another lane a shorter quiet is kept too, and only there it is counted', async () => {
    const client = await open.submitter({ knownServers: ['test', 'other'] });
    const key = randomUUID();
    const first = await submit(debounce(key));
    const moved = { ...debounce(key, 'two', { quiet_ms: 60_000 }), tool_name: 'other.echo' };
    const second = answerOf(await client.submit(moved as SubmittedDirective));
    expect(second).toMatchObject({ id: first.id, outcome: 'debounced' });
    const [later] = open.keys.later;
    const member = `${first.request_id}/${first.id}|tool.other`;
    expect(await open.connection.zrange(later, '0', '-1', 'WITHSCORES')).toEqual([
      member,
      String(second.until),
    ]);
    expect(await open.store.records.later.counts()).toEqual(new Map([['tool.other', 1]]));
  });

  test('the end of a content that took a place is notified of, in the same write', async () => {
    const key = randomUUID();
    const { request_id, id } = await submit(debounce(key));
    const notice = `${request_id}/@notice/${id}`;
    expect(await open.connection.zscore(open.keys.sweep, notice)).toBeNull();
    await submit({ ...debounce(key, 'two'), on_end: 'mine' } as SubmittedDirective);
    expect(await open.connection.zscore(open.keys.sweep, notice)).not.toBeNull();
  });

  test('what ends at once does not shorten how long the key is remembered', async () => {
    const key = randomUUID();
    const first = await submit(debounce(key));
    const before = await open.connection.pttl(guardOf(first));
    const short = { ...debounce(key, 'two', { quiet_ms: 1 }), tool_name: 'nobody.knows', deadline_ms: 1_000 };
    await submit(short as SubmittedDirective);
    expect(await open.connection.pttl(guardOf(first))).toBeGreaterThan(before - 60_000);
  });

  test('what names an unknown tool ends at once, and takes nothing’s place', async () => {
    const key = randomUUID();
    const first = await submit(debounce(key));
    const lost = await submit({ ...debounce(key), tool_name: 'nobody.knows' } as SubmittedDirective);
    expect(errorOf(await open.resultOf(lost)).type).toBe('unknown_tool');
    expect(await submit(debounce(key, 'two'))).toMatchObject({ id: first.id, outcome: 'debounced' });
  });
});

describe('singleton', () => {
  test('refuses with the id of the open one, and joins it', async () => {
    const key = randomUUID();
    const first = await submit(singleton(key, 'refuse'));
    const refused = await refusal(open.client.submit(singleton(key, 'refuse', 'two')));
    expect(refused).toMatchObject({
      code: 'singleton_open',
      status: 409,
      open: { request_id: first.request_id, id: first.id },
      until: new Date(first.until).toISOString(),
    });
    const joined = await submit(singleton(key, 'join', 'two'));
    expect(joined).toMatchObject({ request_id: first.request_id, id: first.id, outcome: 'joined' });
    await open.client.cancel(first.request_id, first.id);
    expect(await submit(singleton(key, 'refuse', 'three'))).toMatchObject({ outcome: 'began' });
  });

  test('replaces what has not begun, which ends at once', async () => {
    const key = randomUUID();
    const first = await submit(singleton(key, 'replace'));
    const { directives } = await open.client.submit(singleton(key, 'replace', 'two'));
    expect(directives[0]?.once).toMatchObject({
      outcome: 'replaced',
      replaces: { request_id: first.request_id, id: first.id },
    });
    expect(errorOf(await open.resultOf(first))).toMatchObject({ type: 'cancelled' });
  });

  test('one that replaces begins when the one that runs has ended, of many only the last', async () => {
    const key = randomUUID();
    const started = gate();
    const go = gate();
    let running = 0;
    let most = 0;
    const ran: unknown[] = [];
    await open.startWorker(async (directive, context) => {
      running += 1;
      most = Math.max(most, running);
      ran.push(directive.arguments['text']);
      started.open();
      if (directive.arguments['text'] === 'one') {
        await aborted(context);
        // The tool takes its time to stop.
        await go.passed;
      }
      running -= 1;
      return done;
    });
    await open.sweeper().start();
    const first = await submit(singleton(key, 'replace'));
    await started.passed;
    const others = [];
    for (let n = 2; n < 12; n += 1) others.push(await submit(singleton(key, 'replace', `t${n}`)));
    const last = others.at(-1) as Answer;
    const view = await open.client.directive(last.request_id, last.id);
    expect(view).toMatchObject({ status: 'waiting', waiting: { reason: 'singleton' } });
    const [state] = open.keys.request(first.request_id);
    expect(await open.connection.hget(state, `${first.id}|cancel`)).toMatch(/^replaced/);
    for (const other of others.slice(0, -1))
      expect(errorOf(await open.resultOf(other)).type).toBe('cancelled');
    expect(await open.journal.releaseOnce({ requestId: last.request_id, id: last.id })).toEqual({
      kind: 'held',
    });
    expect(ran).toEqual(['one']);
    go.open();
    expect(await open.resultOf(last)).toMatchObject({ data: { result: { ok: true } } });
    await open.resultOf(first);
    expect(ran).toEqual(['one', 't11']);
    expect(most).toBe(1);
    const record = await open.recordOf(last);
    expect(record?.deadlineAt).toBe((record?.begin?.at ?? 0) + 900_000);
  });

  test('what follows one that was cancelled as it waited begins when the one that runs has ended', async () => {
    const key = randomUUID();
    const { ran, started, go } = await startHeld();
    const first = await submit(singleton(key, 'replace'));
    await started.passed;
    const second = await submit(singleton(key, 'replace', 'two'));
    await open.client.cancel(second.request_id);
    expect(await refusal(open.client.submit(singleton(key, 'refuse', 'x')))).toMatchObject({
      open: { request_id: first.request_id },
    });
    const third = await submit(singleton(key, 'replace', 'three'));
    expect(await open.journal.releaseOnce({ requestId: third.request_id, id: third.id })).toEqual({
      kind: 'held',
    });
    go.open();
    await open.resultOf(third);
    expect(ran).toEqual(['one', 'three']);
  });

  test('of what was cancelled a year before it was to begin, nothing stays for a year', async () => {
    const key = randomUUID();
    const first = await submit({
      ...singleton(key, 'refuse'),
      delay_ms: 300 * 24 * HOUR_MS,
    } as SubmittedDirective);
    expect(await open.connection.pttl(guardOf(first))).toBeGreaterThan(299 * 24 * HOUR_MS);
    await open.client.cancel(first.request_id);
    expect(await open.connection.pttl(guardOf(first))).toBeLessThanOrEqual(RETENTION_MS + HOUR_MS);
  });

  test('a redrive is refused while another one is open, and made once afterwards', async () => {
    const key = randomUUID();
    const worker = await open.startWorker(async () => fails('tool_error'));
    const first = await submit(singleton(key, 'refuse'));
    await open.resultOf(first);
    await eventually(() => open.dead.size()).toBe(1);
    await worker.stop();
    const second = await submit(singleton(key, 'refuse', 'two'));
    const none = await open.client.redrive({ all: true });
    expect(none).toMatchObject({ redriven: [], refused: [{ code: 'singleton_open' }] });
    await open.client.cancel(second.request_id);
    const { redriven } = await open.client.redrive({ all: true });
    expect(redriven).toMatchObject([{ from: { request_id: first.request_id, id: first.id } }]);
    const open_ = { request_id: first.request_id, id: redriven[0]?.to.id };
    expect(await refusal(open.client.submit(singleton(key, 'refuse')))).toMatchObject({ open: open_ });
  });

  /** And then whoever submits that dies. */
  async function replaceAndDie(first: Answer, key: string): Promise<void> {
    const next = toolCall({ request_id: `${first.request_id.slice(0, 37)}.${randomUUID()}` });
    const once = { kind: 'singleton', key, whenOpen: 'replace' } as const;
    const under = { once, token: 't', hasRoom: true, reason: 'replaced' };
    const together = { rowAfterMs: null, announcements: [], laneBase: null };
    const verdict = await open.journal.accept(next.request_id, [acceptance(next)], { together, key: under });
    expect(verdict).toMatchObject({ outcome: 'replaced' });
  }

  test('what was to begin in a year ends soon, though whoever replaced it died', async () => {
    const key = randomUUID();
    const later = { ...singleton(key, 'replace'), delay_ms: 300 * 24 * HOUR_MS };
    const first = await submit(later as SubmittedDirective);
    await replaceAndDie(first, key);
    await open.sweeper().start();
    expect(errorOf(await open.resultOf(first))).toMatchObject({
      type: 'cancelled',
      details: { reason: 'replaced' },
    });
    await eventually(() => open.store.records.later.size()).toBe(0);
  });

  test('what was cancelled for another one gets no attempt, though whoever submitted that died', async () => {
    const key = randomUUID();
    const first = await submit(singleton(key, 'replace'));
    await replaceAndDie(first, key);
    const ran = await startNoting();
    expect(errorOf(await open.resultOf(first)).type).toBe('cancelled');
    expect(ran).toEqual([]);
  });
});

describe('under a key', () => {
  test.each([
    [{ dedupe: { key: 'k', window_ms: 1 }, singleton: { key: 'k' } }, 'dedupe'],
    [{ debounce: { key: 'k', quiet_ms: 1 }, delay_ms: 1 }, 'debounce'],
    [{ dedupe: { key: 'k', window_ms: 1 }, request_id: 'r' }, 'request_id'],
    [{ request_id: `once.${'a'.repeat(32)}.` }, 'request_id'],
    [{ singleton: { key: 'a\nb' } }, 'singleton.key'],
    [{ dedupe: { key: 'k', window_ms: 0 } }, 'dedupe.window_ms'],
  ])('%j is refused', async (fields, path) => {
    const refused = await refusal(open.client.submit(under(fields)));
    expect(refused).toMatchObject({ code: 'invalid_body', errors: [{ path }] });
  });

  test('Redis and the service name the keys of a request alike, whatever its id', async () => {
    const hex = 'a'.repeat(32);
    const ids = [
      'r',
      'once.',
      `once.${hex}`,
      `once.${hex}.`,
      `once.${hex}.x`,
      `once.${hex}.x.y`,
      `x.once.${hex}.x`,
    ];
    const script = readFileSync(new URL('../../../src/store/include-tag.lua', import.meta.url), 'utf8');
    for (const id of ids.flatMap((own) => [own, `acme~${own}`, `acme~b~${own}`])) {
      const tag = await open.connection.eval(`${script}\nreturn tag_of(ARGV[1])`, 0, id);
      expect(`${open.prefix}:${String(tag)}:state`).toBe(open.keys.request(id)[0]);
    }
  });

  test('several are refused', async () => {
    const refused = await refusal(open.client.submit([dedupe('k'), dedupe('k')]));
    expect(refused.errors).toMatchObject([
      { path: 'directives[0].dedupe' },
      { path: 'directives[1].dedupe' },
    ]);
  });
});
