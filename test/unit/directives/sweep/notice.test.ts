/** Notices of ends: what gets one, how the calls for them are answered, and when the sweeper forgets one.
 *  It must not use Redis. */
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../../src/config/config.ts';
import { UNKNOWN_END_NOTICES } from '../../../../src/contract/signal/end-notices.ts';
import { DirectiveRefused, problem } from '../../../../src/contract/problem.ts';
import { scopedId } from '../../../../src/contract/access/tenant.ts';
import type { EndEvent } from '../../../../src/contract/signal/webhook-event.ts';
import { createRunEnds } from '../../../../src/agents/turn/run-end.ts';
import { ticketOf } from '../../../../src/queue/flow/ticket.ts';
import type { RunHead } from '../../../../src/store/run/run-journal.ts';
import type { DueEntry } from '../../../../src/store/index/sweep-index.ts';
import { createNoticeCalls, isNoticed, NOTICE_ENTRY } from '../../../../src/directives/sweep/notice.ts';
import { createNotifier, type Notified } from '../../../../src/directives/sweep/notify.ts';
import { createNoticeSweep } from '../../../../src/directives/sweep/sweep.ts';
import { flowOf } from '../../../../src/service/preparer.ts';

const EVERYTHING = { concerns: () => true };
const NOTHING = { concerns: () => false };
const NOW = 1_000_000;

describe('a notice', () => {
  test.each([
    ['of a rule', EVERYTHING, { type: 'tool_exec', request_id: 'r' }, true],
    ['that nobody wants', NOTHING, { type: 'tool_exec', request_id: 'r' }, false],
    ['that its caller wants', NOTHING, { type: 'tool_exec', request_id: 'r', on_end: 'a' }, true],
    [
      'of a custom type, which has no such field',
      NOTHING,
      { type: 'mine', request_id: 'r', on_end: 'a' },
      false,
    ],
    ['of a custom type, by a rule', EVERYTHING, { type: 'mine', request_id: 'r' }, true],
    ['of a delivery', EVERYTHING, { type: 'webhook_send', request_id: 'webhook.r' }, false],
    ['of a read of a host', EVERYTHING, { type: 'tool_exec', request_id: 'mcp.read.r' }, false],
  ])('%s', (_what, rules, directive, noticed) => expect(isNoticed(rules, directive)).toBe(noticed));
});

test('calls are answered a few at a time, each once, and a failure stops nothing', async () => {
  const calls = createNoticeCalls();
  const answered: string[] = [];
  const most = { now: 0, ever: 0 };
  calls.answerWith(async (_request, id) => {
    most.now += 1;
    most.ever = Math.max(most.ever, most.now);
    await Promise.resolve();
    most.now -= 1;
    answered.push(id);
    if (id === '3') throw new Error('Redis is away');
  });
  const ids = Array.from({ length: 100 }, (_, number) => String(number));
  for (const id of ids) calls.call('r', id);
  await expect.poll(() => answered.length).toBe(100);
  expect(answered.toSorted()).toEqual(ids.toSorted());
  expect(most.ever).toBeLessThanOrEqual(16);
});

test('a call that nobody answers is left to the sweeper, which looks at once', () => {
  const left: string[] = [];
  const calls = createNoticeCalls((requestId, id) => void left.push(`${requestId}/${id}`));
  calls.call('r', 'd');
  expect(left).toEqual(['r/d']);
});

test('an end is not passed on to a lane that is full, and is to the others', async () => {
  const accepted: string[] = [];
  const submit = async ([delivery]: readonly { id: string }[]) => {
    if (delivery?.id === 'down') throw new DirectiveRefused(problem('lane_full', { detail: 'full' }));
    accepted.push(delivery?.id ?? '');
  };
  const event = {
    type: 'run.ended',
    timestamp: new Date(NOW).toISOString(),
    data: {},
  } as unknown as EndEvent;
  const notify = createNotifier({
    journal: {} as never,
    submitter: { submit: submit as never },
    endNotices: { ...UNKNOWN_END_NOTICES, fault: () => null },
    runEnd: async () => ({ kind: 'ended', end: { type: 'run', agent: 'a', onEnd: ['down', 'up'], event } }),
    openAsks: async () => [],
    runTrace: async () => null,
  });
  expect(await notify('r', '@run')).toEqual({ kind: 'full', since: NOW });
  expect(accepted).toEqual(['up']);
});

test('a run that is open is known without its document, and since when it is as it is', async () => {
  const begin = null;
  const head = { version: 3, ended: false, changedAt: NOW - 30_000, begin } as unknown as RunHead;
  const read = async () => Promise.reject(new Error('its document was read'));
  const ends = createRunEnds({ head: async () => head }, { read }, {} as never);
  expect(await ends('r')).toEqual({ kind: 'open', since: NOW - 30_000, beginsAt: null });
});

test('deliveries to addresses of callers take turns by tenant, and one host has half of the places', () => {
  const secrets = [`whsec_${Buffer.alloc(24, 1).toString('base64')}`];
  const at = { source: 'test', directory: '/', environment: {} };
  const flow = flowOf(parseConfig({ webhooks: { callers_may_give_urls: { secrets } } }, at));
  const delivery = (host: string) => ({ type: 'webhook_send', id: 'u', request_id: 'webhook.1', host });
  const ticket = (host: string, tenant = 'acme', lane = 'webhook.callers.urls') =>
    ticketOf(delivery(host) as never, tenant, flow, lane);
  expect(ticket('a.example')).toMatchObject({ turn: 'acme', limits: [{ concurrency: 5 }] });
  const names = [ticket('a.example'), ticket('b.example'), ticket('a.example', 'other')];
  expect(new Set(names.map((each) => each?.limits[0]?.name)).size).toBe(3);
  expect(ticket('a.example', 'acme', 'webhook.orders')).toBeNull();
});

describe('the look of the sweeper', () => {
  const look = async (seen: Notified | Error | undefined, more: Partial<DueEntry> = {}) => {
    const done: unknown[] = [];
    const index = {
      forget: () => void done.push('forget'),
      lookAgain: async (_entry: DueEntry, at: number, missed?: boolean) =>
        void done.push([at - NOW, missed ?? false]),
    };
    const notify = async (): Promise<Notified> => {
      if (seen === undefined || seen instanceof Error) throw seen ?? new Error('nobody');
      return seen;
    };
    const sweep = createNoticeSweep({
      index,
      retentionMs: 86_400_000,
      limitsOf: (tenant) => (tenant === 'short' ? { closedMs: 8_000 } : {}),
      notify: seen === undefined ? undefined : notify,
    });
    const entry = { requestId: 'r', id: `${NOTICE_ENTRY}d`, takenAs: '', missedBefore: false, ...more };
    await sweep(entry, NOW).catch(() => done.push('failed'));
    return done;
  };
  const open = (ago: number, beginsIn?: number): Notified => ({
    kind: 'open',
    since: NOW - ago,
    beginsAt: beginsIn === undefined ? null : NOW + beginsIn,
  });

  test.each([
    ['forgets what was passed on', { kind: 'notified' } as const, {}, ['forget']],
    ['keeps what could not be', new Error('full'), {}, ['failed']],
    ['keeps what this process does not know about', undefined, {}, [[5_000, false]]],
    ['looks soon at what is young', open(0), {}, [[5_000, false]]],
    ['looks later at what is old', open(30_000), {}, [[30_000, false]]],
    ['looks each minute at the oldest', open(10_000_000), {}, [[60_000, false]]],
    ['waits for what begins later', open(0, 20_000), {}, [[25_000, false]]],
    ['looks each hour at what begins much later', open(0, 86_400_000), {}, [[3_600_000, false]]],
    [
      'looks before what has ended is forgotten',
      open(0, 86_400_000),
      { requestId: scopedId('short', 'r') },
      [[4_000, false]],
    ],
    ['waits for room at a receiver', { kind: 'full', since: NOW } as const, {}, [[60_000, false]]],
    [
      'waits longer for what was full before',
      { kind: 'full', since: NOW - 200_000 } as const,
      {},
      [[200_000, false]],
    ],
    ['waits a minute for what is not there', { kind: 'missing' } as const, {}, [[60_000, true]]],
    ['forgets what did not come', { kind: 'missing' } as const, { missedBefore: true }, ['forget']],
  ])('%s', async (_what, seen, more, done) => expect(await look(seen, more)).toEqual(done));
});
