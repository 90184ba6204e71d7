/** The record of runs that other programs lead (issue 37, section B): which directive a model call, a tool call and a step is, over restarts,
 *  branches, other callers and two programs at once. It goes through the seam of the model endpoint, on a real Redis. */
import { expect, test, vi } from 'vitest';
import { ServiceUnavailable } from '../../../../src/contract/problem.ts';
import type { ModelCall } from '../../../../src/features/model-endpoint/turns-of-run.ts';
import { eventually } from '../../../support/eventually.ts';
import { useRedis } from '../../../support/shared.ts';
import { answer, type Asked, type Message, openRuns, TASK } from '../../../support/recorded-runs.ts';

const redis = useRedis();
const refund: Asked = ['refund', { order: 4711 }];

test('a program that starts again finds its turns and the calls that they asked for, and what follows is new', async () => {
  await using it = await openRuns(redis.url);
  const first = await it.turn(TASK, [refund, refund]);
  const calls = [await it.tool(refund), await it.tool(refund)];
  const second = await it.turn([...TASK, answer('one')]);
  expect(new Set([first, ...calls, second]).size, 'asked for twice, it is two calls').toBe(4);

  expect(await it.turn(TASK, [refund, refund])).toBe(first);
  expect([await it.tool(refund), await it.tool(refund)]).toEqual(calls);
  expect(await it.turn([...TASK, answer('one')])).toBe(second);
  expect([first, second]).not.toContain(await it.turn([...TASK, answer('one'), answer('two')]));
  expect(await it.calls.read('order', null)).toMatchObject({
    passes: 2,
    turns: 3,
    tool_calls: 2,
    branched: false,
  });
  expect(it.log).toEqual([]);
});

test('a program that goes on in the middle, as from a checkpoint, finds the calls of that turn', async () => {
  await using it = await openRuns(redis.url);
  await it.turn(TASK, [['look', {}]]);
  const before = [await it.turn([...TASK, answer('one')], [refund]), await it.tool(refund)];
  expect([await it.turn([...TASK, answer('one')], [refund]), await it.tool(refund)]).toEqual(before);
  // The model is not asked again: its answer was saved, the call was not.
  expect(await it.tool(refund)).toBe(before[1]);
});

test.each([
  ['mcp__tools__shop__refund', 'Claude Agent SDK'],
  ['shop_refund', 'LangGraph'],
  ['shop.refund', 'a dot'],
  ['functions.shop-refund', 'other marks'],
])('a call that the model asked for as %s is found by its tool (%s)', async (name) => {
  await using it = await openRuns(redis.url);
  await it.turn(TASK, [
    ['get_user', {}],
    [name, { order: 1 }],
  ]);
  expect(await it.tool(['refund', { order: 1 }])).toMatch(/\.t1\.c1$/);
});

test('a host that completes the arguments gets the call that was asked for, and the same one after a restart', async () => {
  await using it = await openRuns(redis.url);
  const asked: Asked[] = [
    ['shop__refund', { order: 1 }],
    ['shop__refund', { order: 2 }],
  ];
  await it.turn(TASK, asked);
  const [one, two] = [
    await it.tool(['refund', { order: 2, currency: 'EUR' }]),
    await it.tool(['refund', { order: 1, currency: 'EUR' }]),
  ];
  await it.turn(TASK, asked);
  expect(await it.tool(['refund', { order: 1, currency: 'EUR' }])).toBe(two);
  expect(await it.tool(['refund', { order: 2, currency: 'EUR' }])).toBe(one);
});

// Issue 37, C13: the Claude Agent SDK calls a tool while the model still writes; killed then and started again, it refunded twice.
test('a call that came before its answer was noted is the one that the answer asks for', async () => {
  await using it = await openRuns(redis.url);
  const refund: Asked = ['refund', { order: 1 }];
  const begun = await it.turns.turnFor('order', it.call(TASK), {}, null, null);
  const early = await it.tool(refund);
  expect(await it.turn(TASK, [refund, refund])).toBe(begun.requestId);
  expect([await it.tool(refund), await it.tool(refund)]).toEqual([early, `${begun.requestId}.c1`]);
  await it.turn(TASK, [refund, refund]);
  expect(await it.tool(refund), 'after one more start').toBe(early);
});

test('calls that no turn asked for count within a named pass; without a name a once call is never made twice', async () => {
  await using it = await openRuns(redis.url);
  const mail: Asked = ['mail', { to: 'a' }];
  const first = [await it.tool(mail, { pass: 'p1' }), await it.tool(mail, { pass: 'p1' })];
  expect(new Set(first).size).toBe(2);
  expect([await it.tool(mail, { pass: 'p2' }), await it.tool(mail, { pass: 'p2' })]).toEqual(first);

  await using other = await openRuns(redis.url);
  const once = await other.tool(mail);
  expect(await other.tool(mail)).toBe(once);
  expect(await other.tool(mail, { allowsRepeat: true })).not.toBe(once);
  const polled: Asked = ['status', {}];
  expect(await other.tool(polled, { isOnce: false })).not.toBe(await other.tool(polled, { isOnce: false }));
});

// Issue 37, B6: a documented list for each wire (docs/any-agent.md).
test.each<[ModelCall['wire'], readonly string[], string]>([
  ['openai_chat', ['metadata', 'user', 'safety_identifier', 'prompt_cache_key'], 'labels'],
  ['openai_responses', ['metadata', 'user', 'safety_identifier', 'prompt_cache_key'], 'labels'],
  ['openai_embeddings', ['user'], 'metadata'],
  ['anthropic_messages', ['metadata'], 'user'],
  ['anthropic_count_tokens', ['metadata'], 'user'],
  ['google_generate', ['labels'], 'metadata'],
  ['google_stream', ['labels'], 'metadata'],
  ['google_embed', ['labels'], 'metadata'],
])(
  'members that no model reads make no other call of %s, and all others do',
  async (wire, volatile, other) => {
    await using it = await openRuns(redis.url);
    const sent = (more: Record<string, unknown>) => it.turn(TASK, [], { more, wire });
    const first = await sent({});
    for (const name of volatile) {
      expect(await sent({ [name]: { start: 1 } }), name).toBe(first);
      expect(await sent({ [name]: { start: 2 } }), name).toBe(first);
    }
    expect(await sent({ [other]: 'x' })).not.toBe(first);
    expect(await sent({ generation: { [volatile[0] ?? '']: 1 } }), 'deeper than the top').not.toBe(first);
  },
);

test('a header asks for a fresh answer', async () => {
  await using it = await openRuns(redis.url);
  const sent = (headers = {}) => it.turn(TASK, [], { headers });
  const off = { 'adjutant-replay': 'off' };
  expect(new Set([await sent(), await sent(off), await sent(off)]).size).toBe(3);
});

// ModelCall: `members` rounds numbers that a double cannot hold, and the provider gets them as they are.
test.each([
  ['integer', '9007199254740993', '9007199254740992'],
  ['beyond the range', '1e400', 'null'],
  ['fraction', '0.12345678901234567891', '0.12345678901234567892'],
  ['long', `1${'0'.repeat(100_000)}1`, `1${'0'.repeat(100_000)}2`],
])('numbers that a double cannot tell apart make two calls: %s', async (_name, one, other) => {
  await using it = await openRuns(redis.url);
  const ask = async (number: string): Promise<string> => {
    const body = `{"model":"m","messages":[],"seed":${number}}`;
    const members = JSON.parse(body) as Record<string, unknown>;
    return (await it.turns.turnFor('order', { ...it.call([]), body, members }, {}, null, null)).requestId;
  };
  const first = await ask(one);
  expect(await ask(other)).not.toBe(first);
  expect(await ask(one)).toBe(first);
  expect(await ask('1.50e3'), 'one value in two spellings').toBe(await ask('1500'));
});

// Issue 37: a key over its quota makes no record of a run, by whatever call it begins.
test('a run that its caller has no quota for is not begun; a run takes from the quota once', async () => {
  await using it = await openRuns(redis.url);
  const [poor, ann] = [it.caller('poor'), it.caller('ann')];
  const refused = { problem: { code: 'rate_limited' } };
  await expect(it.turn(TASK, [], {}, poor)).rejects.toMatchObject(refused);
  await expect(it.tool(['mail', {}], { by: poor })).rejects.toMatchObject(refused);
  await expect(it.step({ key: 'k' }, poor)).rejects.toMatchObject(refused);
  await expect(it.calls.read('order', poor)).rejects.toThrow('There is no run');
  await it.turn(TASK, [], {}, ann);
  await it.turn([...TASK, answer('one')], [], {}, ann);
  await it.tool(['mail', {}], { by: ann });
  expect(it.spent).toEqual(['ann']);
});

test('without Redis a run is unavailable, which its caller may repeat', async () => {
  await using it = await openRuns(redis.url);
  it.connection.disconnect();
  await expect(it.turn(TASK)).rejects.toBeInstanceOf(ServiceUnavailable);
  await expect(it.tool(['mail', {}])).rejects.toBeInstanceOf(ServiceUnavailable);
  await expect(it.calls.read('order', null)).rejects.toBeInstanceOf(ServiceUnavailable);
});

test('a call that failed is tried again under one more request, by all who saw the failure', async () => {
  await using it = await openRuns(redis.url);
  const ask = async (failed: { requestId: string; directiveId: string } | null) =>
    it.turns.turnFor('order', it.call(TASK), {}, null, failed);
  const failed = await ask(null);
  const [one, two] = await Promise.all([ask(failed), ask(failed)]);
  expect(one.requestId).not.toBe(failed.requestId);
  expect(two.requestId).toBe(one.requestId);
  expect((await ask(null)).requestId).toBe(one.requestId);
  expect((await ask(one)).requestId).not.toBe(one.requestId);
});

test('a pass that leaves the record is reported once, and repeats no once call in its branch, now or later', async () => {
  await using it = await openRuns(redis.url);
  await it.turn(TASK, [refund]);
  const happened = await it.tool(refund);
  await it.turn([...TASK, answer('one')]);

  await it.turn(TASK, [refund]);
  expect(await it.tool(refund)).toBe(happened);
  await it.turn([...TASK, answer('another')], [refund, ['mail', {}]]);
  expect(it.log).toMatchObject([{ run: 'order', pass: 2, turn: 2 }]);
  expect(await it.calls.read('order', null)).toMatchObject({ branched: true });
  expect(await it.tool(refund)).toBe(happened);
  const mail = await it.tool(['mail', {}]);
  await it.turn([...TASK, answer('another'), answer('x')], [refund]);
  expect(it.log).toHaveLength(1);

  // The process died there; the branch is gone through again.
  await it.turn(TASK, [refund]);
  expect(await it.tool(refund)).toBe(happened);
  await it.turn([...TASK, answer('another')], [refund, ['mail', {}]]);
  expect([await it.tool(refund), await it.tool(['mail', {}])]).toEqual([happened, mail]);
  await it.turn([...TASK, answer('another'), answer('x')], [refund]);
  expect(await it.tool(refund), 'asked for in the branch, after its begin').toBe(happened);
  await it.turn([...TASK, answer('another'), answer('y')], [refund]);
  expect(await it.tool(refund, { allowsRepeat: true })).not.toBe(happened);
});

test('a start with another time of day in its instructions is a branch of the same task, and refunds nothing again', async () => {
  await using it = await openRuns(redis.url);
  const at = (time: string) => [{ role: 'system', content: `It is ${time}.` }, ...TASK.slice(1)];
  const first = await it.turn(at('09:00'), [refund]);
  const happened = await it.tool(refund);
  expect(await it.turn(at('09:05'), [refund])).not.toBe(first);
  expect(it.log).toMatchObject([{ turn: 1, pass: 2 }]);
  expect(await it.tool(refund)).toBe(happened);
  // Another task under the same run is none: its last message differs.
  await it.turn([...TASK.slice(0, 1), { role: 'user', content: 'Write the letter.' }]);
  expect(it.log).toHaveLength(1);
});

// Issue 37, C13: the API was killed; a host that outlived it told its model that the tool failed, and the model asked for the refund again.
test('once calls whose answers were lost are the ones that later turns ask for again, each for one', async () => {
  await using it = await openRuns(redis.url);
  await it.turn(TASK, [refund, refund]);
  const [one, other] = [await it.lost(refund), await it.lost(refund)];
  expect(other, 'asked for twice by one turn').not.toBe(one);
  await it.turn([...TASK, answer('ECONNRESET')], [refund, refund]);
  expect(await Promise.all([it.lost(refund), it.lost(refund)])).toEqual([one, other]);
  await it.turn([...TASK, answer('ECONNRESET'), answer('ECONNRESET')], [refund]);
  expect(await it.tool(refund)).toBe(one);
  await it.turn([...TASK, answer('more')], [refund, refund, refund]);
  expect(await it.lost(refund), 'the first one was given').toBe(other);
  const more = [await it.lost(refund, { allowsRepeat: true }), await it.tool(refund)];
  expect(new Set([one, other, ...more]).size).toBe(4);
  expect(await it.calls.read('order', null)).toMatchObject({ tool_calls: 4, passes: 1, branched: false });
});

test('an equal once call of a later turn is another one where the answer was given, and again that one once an answer is lost', async () => {
  await using it = await openRuns(redis.url);
  const next = [...TASK, answer('one')];
  const last = [...TASK, answer('ECONNRESET')];
  await it.turn(TASK, [refund]);
  const first = await it.lost(refund);
  // Redis refuses writes for a moment: the note that the answer was given is repeated.
  await it.connection.config('SET', 'min-replicas-to-write', '1');
  const noted = it.toolCalls.given('order', first, null);
  await expect(it.connection.set('refused', '1')).rejects.toThrow('NOREPLICAS');
  await it.connection.config('SET', 'min-replicas-to-write', '0');
  await noted;
  await it.turn(next, [refund]);
  const second = await it.tool(refund);
  expect(second).not.toBe(first);
  // The next start loses the answer of the second call, which the first one had.
  await it.turn(TASK, [refund]);
  expect(await it.tool(refund)).toBe(first);
  await it.turn(next, [refund]);
  expect(await it.lost(refund)).toBe(second);
  await it.turn(last, [refund, refund]);
  expect(await it.lost(refund)).toBe(second);
  expect(await it.tool(refund)).not.toBe(second);
  await it.toolCalls.given('order', `${second}0`, null);
  await it.toolCalls.given('another', second, null);
  await it.turn([...last, answer('ECONNRESET')], [refund]);
  const same = await it.find(refund);
  expect(same.requestId, 'another run, and another call, note nothing').toBe(second);
  await it.toolCalls.given('order', await same.again(), null);
  await it.turn([...last, answer('two')], [refund]);
  expect(await it.lost(refund), 'a further try was given').not.toContain(second);
});

test('a call that came before its answer was noted, and whose own answer was lost, is that one', async () => {
  const pass = 'p1';
  await using it = await openRuns(redis.url);
  const refund: Asked = ['refund', { order: 1 }];
  const headers = { 'adjutant-pass': pass };
  const ask = async (messages: readonly Message[]) =>
    it.turns.turnFor('order', it.call(messages), headers, null, null);
  await ask(TASK);
  const early = await it.lost(refund, { pass });
  await it.turn([...TASK, answer('ECONNRESET')], [refund], { headers });
  expect(await it.lost(refund, { pass })).toBe(early);
  expect(await it.lost(refund, { pass }), 'its host repeats it').toBe(early);
  const history = [...TASK, answer('ECONNRESET'), answer('ECONNRESET')];
  await ask(history);
  expect(await it.tool(refund, { pass }), 'early again').toBe(early);
  await it.turn(history, [refund], { headers });
  expect(await it.tool(refund, { pass }), 'the answer asks for that one').toBe(early);
  expect(await it.calls.read('order', null)).toMatchObject({ tool_calls: 1 });
});

// Issue 37, C13: the API was killed, a host told its model of the lost connection, and the first call of its next start was a retry of the SDK.
test('a retry of the first call, after calls that it asked for, is another start: its branch refunds nothing again', async () => {
  await using it = await openRuns(redis.url);
  const retry = { headers: { 'x-stainless-retry-count': '1' } };
  await it.turn(TASK, [['look', {}]]);
  await it.turn(TASK, [['look', {}]], retry);
  expect(await it.calls.read('order', null), 'its answer was lost').toMatchObject({ passes: 1 });
  await it.tool(['look', {}]);
  await it.turn([...TASK, answer('ECONNRESET')], [refund]);
  const happened = await it.tool(refund);
  await it.turn(TASK, [['look', {}]], retry);
  await it.tool(['look', {}]);
  await it.turn([...TASK, answer('looked')], [refund]);
  expect(await it.tool(refund)).toBe(happened);
  expect(await it.calls.read('order', null)).toMatchObject({ passes: 2, branched: true });
});

test('a retry of the first call whose answer was never noted, beside a parallel call, begins no pass', async () => {
  await using it = await openRuns(redis.url);
  const charge: Asked = ['charge', { order: 4711 }];
  const headers = { 'x-stainless-retry-count': '1' };
  await it.turns.turnFor('order', it.call(TASK), {}, null, null);
  await it.turn([{ role: 'user', content: 'Name this chat.' }]);
  await it.turn(TASK, [charge], { headers });
  expect(await it.tool(charge)).toMatch(/\.t1\.c0$/);
  await it.turn([...TASK, answer('charged')], [charge]);
  expect(await it.tool(charge)).toMatch(/\.t3\.c0$/);
  expect(await it.calls.read('order', null)).toMatchObject({ passes: 1, branched: false });
  expect(it.log).toEqual([]);
});

test('a retry of the first call in a branch stays in a branch: it repeats no once call of the record', async () => {
  await using it = await openRuns(redis.url);
  const charge: Asked = ['charge', { order: 4711 }];
  const headers = { 'x-stainless-retry-count': '1' };
  await it.turn(TASK, [['look', {}]]);
  await it.turn([...TASK, answer('looked')], [charge]);
  const happened = await it.tool(charge);
  // The program starts again, with a parallel call that the record does not have.
  await it.turn(TASK, [['look', {}]]);
  await it.turn([{ role: 'user', content: 'Name this chat.' }]);
  await it.turn(TASK, [['look', {}]], { headers });
  await it.turn([...TASK, answer('looked')], [charge]);
  await it.turn([...TASK, answer('looked'), answer('charged')], [charge]);
  expect(await it.tool(charge)).toBe(happened);
});

// Issue 37, C13: @anthropic-ai/claude-agent-sdk 0.3.332 sends its surroundings, which end with the date, as a message of the role `system`
// after the task, and older ones in a reminder within it.
test('the date of the Claude Agent SDK makes no other call; a change beside it is a branch of the same task', async () => {
  await using it = await openRuns(redis.url);
  const ask = async (about: string, reminder = '') => {
    const blocks = [reminder, 'Refund order 4711.'].filter(Boolean).map((text) => ({ type: 'text', text }));
    const messages = [
      { role: 'user', content: blocks },
      { role: 'system', content: [{ type: 'text', text: about }] },
    ];
    return it.turn(messages, [refund], { wire: 'anthropic_messages' });
  };
  const first = await ask("In /a. Today's date is 2026-11-27.");
  const happened = await it.tool(refund);
  expect(await ask("In /a. Today's date is 2026-11-28.")).toBe(first);
  expect(await ask("In /b. Today's date is 2026-11-28.")).not.toBe(first);
  expect(it.log).toMatchObject([{ turn: 1, pass: 3 }]);
  expect(await it.tool(refund)).toBe(happened);

  const reminded = async (day: number) =>
    ask('In /a.', `<system-reminder>Today's date is 2026-11-${day}.</system-reminder>`);
  expect(await reminded(27)).toBe(await reminded(28));
  const written = async (day: number) => ask('In /a.', `Today's date is 2026-11-${day}.`);
  expect(await written(27), 'words of the user').not.toBe(await written(28));
});

// Issue 37, "attack it with the ten questions": a provider that answers differently to the same body.
test('where the same body has two answers, a pass finds the newest one and the calls that it asked for', async () => {
  await using it = await openRuns(redis.url);
  const one: Asked = ['refund', { order: 1 }];
  const other: Asked = ['refund', { order: 2 }];
  await it.turn(TASK, [one]);
  const ofFirst = await it.tool(one);
  const fresh = await it.turn(TASK, [other], { headers: { 'adjutant-replay': 'off' } });
  const ofFresh = await it.tool(other);
  expect(ofFresh).not.toBe(ofFirst);
  expect([await it.turn(TASK, [other]), await it.tool(other)]).toEqual([fresh, ofFresh]);
  expect(await it.tool(one), 'it happened, and no turn of the pass asks for it').toBe(ofFirst);
});

// Issue 37, "attack it with the ten questions": clocks. Only that of Redis counts.
test('a process whose clock is hours ahead takes no lease, forgets no call and sees no idle run', async () => {
  await using it = await openRuns(redis.url);
  await it.step({ key: 'charge', token: 'a' });
  const first = await it.turn(TASK, [['mail', {}]]);
  const mail = await it.find(['mail', {}]);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 100 * 3_600_000 });
  try {
    expect(await it.step({ key: 'charge', token: 'b' })).toMatchObject({ state: 'running' });
    expect(await it.turn(TASK, [['mail', {}]])).toBe(first);
    expect(await it.find(['mail', {}])).toMatchObject({ requestId: mail.requestId, isOld: false });
    expect(await it.calls.read('order', null)).toMatchObject({ status: 'open' });
  } finally {
    vi.useRealTimers();
  }
});

test('the view counts what came from the record, by turn, and names the turn that a pass left; it shows 20 turns', async () => {
  await using it = await openRuns(redis.url);
  const history = (turn: number): Message[] => (turn === 0 ? [...TASK] : [...TASK, answer(`turn ${turn}`)]);
  const asks: Asked[] = [['look', {}]];
  for (let turn = 0; turn < 25; turn += 1) await it.turn(history(turn), turn === 0 ? asks : []);
  for (const turn of [0, 1, 1]) await it.turn(history(turn), turn === 0 ? asks : [], { isReplayed: true });
  await it.turn([...TASK, answer('another')]);
  const newest = await it.calls.read('order', null);
  expect(newest).toMatchObject({ turns: 26, replays: 3, diverged: { pass: 2, turn: 3 } });
  expect(newest.latest_turns?.map(({ turn }) => turn)).toEqual(
    Array.from({ length: 20 }, (_, at) => 26 - at),
  );
  const { latest_turns: first } = await it.calls.read('order', null, 2);
  const prefix = newest.request_prefix;
  expect(first).toEqual([
    { turn: 2, request_id: `${prefix}.t2`, tool_calls: 0, replays: 2 },
    { turn: 1, request_id: `${prefix}.t1`, tool_calls: 1, replays: 1 },
  ]);
  expect(newest.diverged?.request_id).toBe(`${prefix}.t3`);
});

test('two programs under one run at once join: each turn is one, and no once call happens twice', async () => {
  await using it = await openRuns(redis.url);
  const history = [...TASK, answer('one')];
  await it.turn(TASK, [['look', {}]]);
  const ahead = await it.turn(history, [refund]);
  // The second one begins while the first one is in its second turn.
  await it.turn(TASK, [['look', {}]]);
  const ofFirst = await it.tool(refund);
  expect(await it.turn(history, [refund])).toBe(ahead);
  expect(await it.tool(refund)).toBe(ofFirst);
  // The child of a killed program goes on beside the next start: a call that both make is not the other one of its turn.
  const another: Asked = ['refund', { order: 4711, reason: 'late' }];
  await it.turn([...history, answer('two')], [another, ['refund', { order: 4712 }]]);
  const ofBoth = await it.tool(another);
  expect(await it.tool(another)).toBe(ofBoth);
  expect(await it.tool(['refund', { order: 4712 }])).not.toBe(ofBoth);
  const both = await Promise.all([it.turn([...history, answer('x')]), it.turn([...history, answer('x')])]);
  expect(both[0]).toBe(both[1]);
  // Its call comes after the next start has begun, and before the answer that asks for it is noted: it refunded twice.
  const last: Asked = ['refund', { order: 1 }];
  await it.turns.turnFor('order', it.call([...history, answer('y')]), {}, null, null);
  await it.turn(TASK, [['look', {}]]);
  const early = await it.lost(last);
  await it.turn([...history, answer('y')], [last]);
  expect(await it.tool(last)).toBe(early);
});

test('a program that starts again waits once for a turn that was never noted, and its calls are none of that turn', async () => {
  await using it = await openRuns(redis.url);
  const asked = async () => {
    const [, calls = ''] = /cmdstat_evalsha:calls=(\d+)/.exec(await it.connection.info('commandstats')) ?? [];
    return Number(calls);
  };
  const own = Array.from({ length: 8 }, (_, order): Asked => ['refund', { order }]);
  const callAll = async () => {
    const ids = [];
    for (const each of own) ids.push(await it.tool(each));
    return ids;
  };
  await it.turn(TASK);
  const ids = await callAll();
  const next = [...TASK, answer('one')];
  await it.turns.turnFor('order', it.call(next), {}, null, null);
  await it.turn(TASK);
  const before = await asked();
  expect(await callAll()).toEqual(ids);
  // The first one asks at most 20 times; each took a second.
  expect((await asked()) - before).toBeLessThan(60);
  // The model asks for it on purpose, after the program had made it.
  const wanted = own[0] as Asked;
  const turn = await it.turn(next, [wanted]);
  expect(await it.tool(wanted)).toBe(`${turn}.c0`);
});

test('a run is its callers: the same name of another key or tenant is another run, and none of them is found by guessing', async () => {
  await using it = await openRuns(redis.url);
  const [ann, bob, eve] = [it.caller('ann'), it.caller('bob'), it.caller('ann', 'other')];
  const ofAnn = await it.turn(TASK, [], {}, ann);
  expect(await it.turn(TASK, [], {}, bob)).not.toBe(ofAnn);
  expect(await it.turn(TASK, [], {}, eve)).not.toBe(ofAnn);
  expect(await it.calls.read('order', ann)).toMatchObject({ turns: 1 });
  await expect(it.calls.read('order', it.caller('guest'))).rejects.toThrow(
    'There is no run order of this caller',
  );
  await expect(it.calls.close('order', {}, it.caller('guest'))).rejects.toThrow('There is no run');
  await expect(it.calls.read('__proto__:../x', null)).rejects.toThrow();
  const reader = it.caller('reader', 'default', ['read']);
  await expect(it.tool(['refund', {}], { by: reader })).rejects.toMatchObject({
    problem: { code: 'forbidden' },
  });
  await expect(it.calls.read('order', reader), 'it has made no record').rejects.toThrow('There is no run');
});

test('a closed run answers what it has and makes nothing new; another outcome is refused', async () => {
  await using it = await openRuns(redis.url);
  const first = await it.turn(TASK, [['refund', {}]]);
  const call = await it.tool(['refund', {}]);
  expect(await it.calls.close('order', { result: { ok: true } }, null)).toMatchObject({
    status: 'completed',
    result: { ok: true },
  });
  await it.calls.close('order', { result: { ok: true } }, null);
  await expect(it.calls.close('order', { error: 'no' }, null)).rejects.toMatchObject({
    problem: { code: 'already_decided' },
  });
  expect([await it.turn(TASK, [['refund', {}]]), await it.tool(['refund', {}])]).toEqual([first, call]);
  const closed = { problem: { code: 'request_closed' } };
  await expect(it.turn([...TASK, answer('x')])).rejects.toMatchObject(closed);
  await expect(it.tool(['mail', {}])).rejects.toMatchObject(closed);
  await expect(it.step({ key: 'k' })).rejects.toMatchObject(closed);
  // Its directive would be a new one.
  const failed = { requestId: first, directiveId: 'call' };
  await expect(it.turns.turnFor('order', it.call(TASK), {}, null, failed)).rejects.toMatchObject(closed);
  await it.turn(TASK, [['refund', {}]]);
  expect(await (await it.find(['refund', {}])).again()).toBe(call);
});

test('a step runs once: recorded, joined while its lease lives, unknown after its process died', async () => {
  await using it = await openRuns(redis.url);
  const begun = await it.step({ key: 'charge', token: 'a' });
  expect(begun).toMatchObject({ state: 'run', token: 'a' });
  expect(await it.step({ key: 'charge', token: 'a' }), 'the same begin again').toMatchObject({
    state: 'run',
  });
  expect(await it.step({ key: 'charge', token: 'b' })).toMatchObject({ state: 'running' });
  const end = async (body: object) => it.calls.endStep('order', { key: 'charge', ...body }, null);
  await expect(end({ token: 'b', result: 0 })).rejects.toMatchObject({
    problem: { code: 'version_conflict' },
  });
  await expect(end({ result: 0 }), 'nobody decides while it runs').rejects.toMatchObject({
    problem: { code: 'not_waiting' },
  });
  expect(await end({ token: 'a', result: { paid: 1 } })).toMatchObject({ state: 'recorded' });
  expect(await end({ token: 'a', result: { paid: 1 } })).toMatchObject({ state: 'recorded' });
  await expect(end({ token: 'a', result: 2 })).rejects.toMatchObject({
    problem: { code: 'already_decided' },
  });
  expect(await it.step({ key: 'charge', token: 'c' })).toMatchObject({
    state: 'recorded',
    result: { paid: 1 },
  });
  expect(await it.step({ key: 'charge' }, it.caller('ann'))).toMatchObject({ state: 'run' });
  await expect(it.step({ key: 'charge' }, it.caller('x', 'sealed'))).rejects.toThrow(
    'stores nothing in clear',
  );
});

test('the lease of a dead process: once is unknown until a decision, others run again', async () => {
  await using it = await openRuns(redis.url);
  for (const effect of ['once', 'read'] as const)
    await it.step({ key: effect, effect, lease_ms: 1_000, token: 'dead' });
  await eventually(async () => (await it.step({ key: 'once', token: 'b' })).state).toBe('unknown');
  await eventually(async () => (await it.step({ key: 'read', token: 'b' })).state).toBe('run');
  const decide = async (body: object) => it.calls.endStep('order', { key: 'once', ...body }, null);
  expect(await decide({ again: true })).toMatchObject({ state: 'released' });
  expect(await it.step({ key: 'once', token: 'c' })).toMatchObject({ state: 'run' });
  await expect(decide({ token: 'dead', result: 1 })).rejects.toMatchObject({
    problem: { code: 'version_conflict' },
  });
});

test('a long run costs its thousandth turn what the first one costs, and a pass finds all of them', async () => {
  await using it = await openRuns(redis.url);
  const history = (turn: number): Message[] => [...TASK, answer(`turn ${turn}`)];
  const made: string[] = [];
  for (let turn = 0; turn < 1_000; turn += 1) made.push(await it.turn(history(turn), [['look', { turn }]]));
  const found: string[] = [];
  for (let turn = 0; turn < 1_000; turn += 1) found.push(await it.turn(history(turn)));
  expect(found).toEqual(made);
  expect(await it.calls.read('order', null)).toMatchObject({ turns: 1_000 });
});

// Issue 37: a refused call would count among the 10,000 turns of its run, and the next pass would seem to leave the record.
test('a turn that was refused is taken back, unless another caller has found it', async () => {
  await using it = await openRuns(redis.url);
  const ask = async (messages: readonly Message[]) =>
    it.turns.turnFor('order', it.call(messages), {}, null, null);
  const first = await it.turn(TASK, [['look', {}]]);
  const look = await it.tool(['look', {}]);
  const refused = await ask([...TASK, answer('refused')]);
  await it.turns.refused('order', refused);
  await it.turns.refused('order', refused);
  expect(await it.calls.read('order', null)).toMatchObject({ turns: 1, branched: false });
  const second = await it.turn([...TASK, answer('one')]);
  expect(second, 'its number is not given again').not.toBe(refused.requestId);
  expect([await it.turn(TASK, [['look', {}]]), await it.tool(['look', {}])]).toEqual([first, look]);
  expect(await it.turn([...TASK, answer('one')])).toBe(second);
  expect(it.log, 'the pass is the recorded one').toEqual([]);

  const [made, found] = [await ask([...TASK, answer('two')]), await ask([...TASK, answer('two')])];
  await it.turns.refused('order', made);
  expect((await ask([...TASK, answer('two')])).requestId).toBe(found.requestId);
});

test('a run has at most 10,000 turns and 10,000 calls, and answers what it has beyond', async () => {
  await using it = await openRuns(redis.url);
  const first = await it.turn(TASK, [['look', {}]]);
  const call = await it.tool(['look', {}]);
  const state = await it.state();
  await it.connection.hset(state, 'turns', 10_000, 'calls', 10_000);
  const full = { problem: { code: 'request_full' } };
  await expect(it.turn([...TASK, answer('one')])).rejects.toMatchObject(full);
  await expect(it.tool(['mail', {}])).rejects.toMatchObject(full);
  expect([await it.turn(TASK, [['look', {}]]), await it.tool(['look', {}])]).toEqual([first, call]);
});

test('a run without calls is idle after 10 minutes, and goes on with its next call', async () => {
  await using it = await openRuns(redis.url);
  await it.turn(TASK);
  expect(await it.calls.read('order', null)).toMatchObject({ status: 'open' });
  const state = await it.state();
  const leftMs = await it.connection.pttl(state);
  await it.connection.pexpire(state, leftMs - 700_000);
  const { status, idle_ms: idleMs } = await it.calls.read('order', null);
  expect([status, Number(idleMs) >= 700_000]).toEqual(['idle', true]);
  await it.turn(TASK);
  expect(await it.calls.read('order', null)).toMatchObject({ status: 'open' });
});
