/** The start of a call that is written with its claim, as its job is taken: on a real Redis, with real workers.
 *  It must see what readers of the log see. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult } from '../../../src/contract/result.ts';
import { signalSchema } from '../../../src/contract/signal.ts';
import type { ToolExec } from '../../../src/contract/work-directive.ts';
import { draftSignal, type SignalOrigin } from '../../../src/journal/signal-draft.ts';
import { terminalSignal } from '../../../src/journal/terminal-signal.ts';
import type { JobData } from '../../../src/queue/job.ts';
import { createSmallReader } from '../../../src/search/small-requests.ts';
import { attemptDirective } from '../../../src/worker/attempt.ts';
import { type Execute, gate, done, inTurn, untilResumed } from '../../support/executors.ts';
import { eventually } from '../../support/eventually.ts';
import { claimOf, LANE } from '../../support/journal.ts';
import { setLeaseEnd } from '../../support/lease.ts';
import { nameOf, takerOn } from '../../support/lane-taker.ts';
import { call, type Call, calls, errorOf, openPipeline } from '../../support/pipeline.ts';
import { submitScripted } from '../../support/submitter.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

const client = (): Redis => open.connection as Redis;

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const submit = async (directives: readonly Call[]): Promise<ToolExec[]> => submitScripted(open, directives);

async function submitted(fields: Partial<Call> = {}): Promise<ToolExec> {
  const [made] = await submit([call(fields)]);
  return made as ToolExec;
}

async function keptOf({ request_id, id }: ToolExec): Promise<string | null> {
  return client().hget(open.keys.request(request_id)[1], `@start|${id}`);
}

const stateOf = ({ request_id }: ToolExec): string => open.keys.request(request_id)[0];

function origin({ request_id: requestId, id: causationId }: ToolExec): SignalOrigin {
  return { requestId, causationId, traceparent: TRACEPARENT, attempt: 1 };
}

async function endIt(made: ToolExec): Promise<void> {
  const end = terminalSignal(made, errorResult(errorEnvelope('internal_error', 'it ended')), origin(made));
  await open.journal.endUnclaimed(made.request_id, made.id, 'failed', [end]);
}

/** Takes its job with its claim; nobody makes the attempt. */
async function taken(made: ToolExec, options: Parameters<typeof takerOn>[1] = {}) {
  const taker = takerOn(open, options);
  expect((await taker.take('lock')).slice(0, 2)).toEqual(['job', nameOf(made)]);
  return taker.held(made);
}

test('it is in the log as the job is taken, once, with its instant, and is not kept any longer', async () => {
  const made = await submitted({ effect: 'once', arguments: { city: 'Oslo', api_key: 'hidden' } });
  expect(await keptOf(made)).not.toContain('hidden');
  expect(await open.typesOf(made)).toEqual([]);
  const from = Date.now();
  const held = await taken(made, { repeats: true });
  expect(held?.verdict).toMatchObject({ kind: 'granted', fence: 1, owesStart: false });
  const [started, ...others] = await open.log(made.request_id);
  expect(others).toEqual([]);
  expect(signalSchema.safeParse(started).error).toBeUndefined();
  expect(started).toMatchObject({
    type: 'ai.tool.started',
    subject: made.request_id,
    causationid: made.id,
    attempt: 1,
    sequence: 1,
    data: {
      call_id: made.id,
      tool_name: made.tool_name,
      arguments: { city: 'Oslo', api_key: '[REDACTED]' },
      metadata: { operation: 'tool_execute', origin: 'worker_runtime', request_id: made.request_id },
    },
  });
  const at = Date.parse(started?.time ?? '');
  expect(at).toBeGreaterThanOrEqual(from);
  expect(at).toBeLessThanOrEqual(Date.now());
  expect(await keptOf(made)).toBeNull();
});

test('a follower hears it', async () => {
  const { execute, resume, started } = untilResumed();
  await open.startWorker(execute);
  const made = await submitted();
  const types: string[] = [];
  const following = (async () => {
    for await (const { type } of open.client.signals(made.request_id)) types.push(type);
  })();
  await started;
  await eventually(() => types).toEqual(['ai.tool.started']);
  resume();
  await following;
  expect(types).toEqual(['ai.tool.started', 'ai.tool.result']);
});

test('what the request holds is counted with it, once', async () => {
  const made = await submitted();
  expect(await keptOf(made)).not.toBeNull();
  await open.startWorker(inTurn(done).execute);
  await open.resultOf(made);
  const [state, bodies, log] = open.keys.request(made.request_id);
  const texts = await client().lrange(log, 0, -1);
  // As include-record.lua counts: a directive, its body, and entries of the log without their sequence.
  const numbered = ',"sequence":1'.length;
  const entries = texts.map((text) => text.length - numbered + 64).reduce((sum, each) => sum + each, 0);
  const holds = 510 + Number(await client().hstrlen(bodies, made.id)) + entries;
  // Its instant came later.
  expect(Number(await client().hget(state, 'bytes'))).toBe(
    holds - '2026-01-31T12:00:00.000Z'.length + '-'.length,
  );
});

test.each([
  ['arguments that are long', { arguments: { text: 'x'.repeat(1_000) } }],
  ['arguments that are very long', { arguments: { text: 'x'.repeat(20_000) } }],
  ['an instant to begin at', { delay_ms: 1 }],
])('it is not kept of a call with %s; its worker reports it', async (_, fields) => {
  const made = await submitted(fields as Partial<Call>);
  expect(await keptOf(made)).toBeNull();
  const { execute } = inTurn(done);
  await open.startWorker(execute);
  const sweeper = open.sweeper();
  await sweeper.start();
  await open.resultOf(made);
  expect(await open.typesOf(made)).toEqual(['ai.tool.started', 'ai.tool.result']);
});

test('a worker that dies with a once call it has taken leaves it unknown; one that may be repeated is made by the next, with one start', async () => {
  const { execute, ran } = inTurn(done);
  for (const effect of ['once', 'read'] as const) {
    const made = await submitted({ effect });
    await taken(made);
    await setLeaseEnd(open.connection, open.keys.request(made.request_id)[0], made.id, 1);
    const job = {
      request_id: made.request_id,
      id: made.id,
      digest: (await open.recordOf(made))?.digest ?? '',
    };
    await open.attempt(open.attemptParts(execute), { ...made, ...job });
    expect(await open.typesOf(made)).toEqual(['ai.tool.started', 'ai.tool.result']);
    const end = await open.resultOf(made);
    if (effect === 'once') expect(errorOf(end).type).toBe('outcome_unknown');
    else expect(end?.data).toMatchObject({ result: { ok: true } });
  }
  expect(ran).toHaveLength(1);
});

test('what its worker gives back has its start in the log, and begins once', async () => {
  const passed = gate();
  const first: Execute = async () => {
    await passed.passed;
    return done;
  };
  await open.startWorker(first, { concurrency: 1 });
  await submitted();
  const made = await submit(calls(3, { effect: 'once' }));
  passed.open();
  for (const each of made) expect((await open.resultOf(each))?.data).toMatchObject({ result: { ok: true } });
  const log = await open.log(made[0]?.request_id ?? '');
  expect(log.filter(({ type }) => type === 'ai.tool.started')).toHaveLength(3);
});

test('who asks for a claim of its own writes it too, once', async () => {
  const made = await submitted();
  const started = draftSignal(
    'ai.tool.started',
    { call_id: 'a', tool_name: 't', metadata: {} },
    origin(made),
  );
  const claim = { ...claimOf(made), started };
  expect(await open.journal.claim(claim)).toMatchObject({ kind: 'granted', fence: 1 });
  expect(await open.journal.claim(claim)).toMatchObject({ kind: 'granted', fence: 1 });
  const log = await open.log(made.request_id);
  expect(log.map(({ type }) => type)).toEqual(['ai.tool.started']);
  expect(log[0]?.data).toMatchObject({ tool_name: made.tool_name });
  expect(await keptOf(made)).toBeNull();
});

/** An attempt of it that begins `afterMs` after it was taken; `meanwhile`: what becomes of it until then. */
async function later(made: ToolExec, meanwhile: () => Promise<unknown>) {
  const taker = takerOn(open);
  const reply = await taker.take('lock');
  const held = taker.claims.heldJob(nameOf(made)) ?? null;
  await meanwhile();
  const { execute, ran } = inTurn(done);
  const job = JSON.parse(String(reply[3])) as JobData;
  const outcome = await attemptDirective(open.attemptParts(execute), job, LANE, held);
  return { outcome, ran };
}

test('what is cancelled between its claim and a call that comes late does not begin, and was no attempt', async () => {
  const made = await submitted();
  const { outcome, ran } = await later(made, async () => {
    await open.client.cancel(made.request_id, made.id);
    await pause(150);
  });
  expect(outcome).toMatchObject({ kind: 'done', errorType: 'cancelled' });
  expect(ran).toEqual([]);
  expect(errorOf(await open.resultOf(made)).details).not.toHaveProperty('outcome');
  expect(await open.typesOf(made)).toEqual(['ai.tool.started', 'ai.tool.result']);
});

test.each([
  ['has ended', async (made: ToolExec) => endIt(made)],
  ['is past its deadline', async () => pause(700)],
  ['has lost its lease', async (made: ToolExec) => setLeaseEnd(open.connection, stateOf(made), made.id, 1)],
])('what %s between its claim and a call that comes late does not begin', async (_, become) => {
  const made = await submitted({ deadline_ms: 600 });
  const { outcome, ran } = await later(made, async () => {
    await become(made);
    await pause(150);
  });
  expect(outcome).toEqual({ kind: 'done' });
  expect(ran).toEqual([]);
});

test('what comes late and has not changed begins, with one start', async () => {
  const made = await submitted();
  const { ran } = await later(made, async () => pause(150));
  expect(ran).toEqual([made.id]);
  expect(await open.typesOf(made)).toEqual(['ai.tool.started', 'ai.tool.result']);
});

test('a request that has it is read for the list with the other small ones', async () => {
  const read = createSmallReader(open.connection, open.keys);
  const made = [await submitted({ id: 'A' }), await submitted({ id: 'z' }), await submitted({ id: 'a' })];
  expect(await Promise.all(made.map(keptOf))).not.toContain(null);
  const facts = await read(made.map(({ request_id: id }) => id));
  expect(facts.map((each) => each?.tools)).toEqual(made.map(({ tool_name: name }) => [name]));
});

test('instants are written as everywhere else', async () => {
  const source = readFileSync('src/journal/scripts/include-start.lua', 'utf8');
  const [text = ''] = /local function instant_text[\s\S]*?\nend\n/.exec(source) ?? [];
  const edges = [
    '1970-01-01',
    '1999-12-31T23:59:59.999Z',
    '2000-02-29',
    '2024-02-29T23:59:59.999Z',
    '2026-12-31',
    '2100-02-28',
  ];
  const random = Array.from({ length: 3_000 }, () => Math.floor(Math.random() * Date.parse('2400-01-01')));
  const instants = [...edges.map((each) => Date.parse(each)), Date.parse('2100-03-01') - 1, ...random];
  const script = `${text} local said = {} for index, ms in ipairs(ARGV) do said[index] = instant_text(tonumber(ms)) end return said`;
  const said = await client().eval(script, 0, ...instants);
  expect(said).toEqual(instants.map((each) => new Date(each).toISOString()));
});
