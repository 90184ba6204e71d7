/** Directives under keys, through two services, of which one is killed meanwhile and started again: counted by the tool itself.
 *  It must not help any process to recover, nor judge an instant by another clock than that of Redis. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, test } from 'vitest';
import type { DirectiveView, RequestView } from '../../../../src/contract/request/request-view.ts';
import type { StartedRun } from '../../../../src/contract/run/run.ts';
import type { Submission } from '../../../../src/contract/directive/submission.ts';
import { countingCall } from '../../../support/calls.ts';
import { type AdjutantProcess, install, type Installation } from '../../../support/installation.ts';
import { type PlannedModel, planOf, startPlannedModel } from '../../../support/planned-model.ts';
import { get } from '../../../support/public-api.ts';

const KEYS = 10;
const CALLERS = 200;

let installation: Installation;
let model: PlannedModel;
/** API and worker in each; the first one is killed, and started again. */
let services: AdjutantProcess[];
let restarted: Promise<void>;

beforeAll(async () => {
  model = await startPlannedModel();
  const config = {
    providers: { mock: { type: 'openai-compatible', base_url: model.url } },
    agents: { planner: { model: 'mock:m', stream: false, tools: ['*'] } },
  };
  installation = await install({ redis: { appendonly: true, appendfsync: 'always' }, config });
  services = await Promise.all([installation.start('up'), installation.start('up')]);
  restarted = killWhenCalled();
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});

/** As a caller that gets no answer does: once more, at the other one. */
async function submit(call: object, from: number, waitMs = 0): Promise<Submission> {
  return sent<Submission>(`/v1/directives?wait_ms=${waitMs}`, call, from);
}

async function sent<T extends object>(path: string, call: object, from: number): Promise<T> {
  const body = JSON.stringify(call);
  const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
  for (let attempt = from; ; attempt += 1) {
    const { url } = services[attempt % 2] as AdjutantProcess;
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body }).catch(() => null);
    const read = answer?.ok === true ? await answer.json().catch(() => null) : null;
    if (read !== null) return read as T;
    if (attempt > from + 20) throw new Error(`no answer: ${answer?.status}`);
  }
}

function underKey(number: number, fields: object, delayMs = 0) {
  const { request_id: _request, id: _id, ...call } = countingCall('read', number, { requestId: '', delayMs });
  return { ...call, ...fields };
}

const endOf = async (requestId: string, id: string): Promise<DirectiveView> => {
  const { url } = services[1] as AdjutantProcess;
  const path = `/v1/requests/${requestId}/directives/${id}?wait_ms=20000`;
  return (await get<DirectiveView>(`${url}${path}`)).body;
};

async function killWhenCalled(): Promise<void> {
  const [first] = services as [AdjutantProcess];
  await installation.untilExecuted((counted) => counted.length > 1);
  await first.kill9();
  services[0] = await installation.start('up');
}

/** A call that a worker did not survive is repeated under the same key of the tool. */
function labelsOf(from: number, to: number): string[] {
  const calls = new Map(installation.executions().map(({ key, label }) => [key, label]));
  return [...calls.values()].filter((label) => {
    const number = Number(label.slice('read-'.length));
    return number >= from && number < to;
  });
}

test.concurrent('two hundred at once under ten keys are ten calls, though one service is killed', async ({
  expect,
}) => {
  const window = randomUUID();
  const callers = Array.from({ length: CALLERS }, (_, n) => {
    const dedupe = { key: `${window}-${n % KEYS}`, window_ms: 600_000 };
    return submit(underKey(n % KEYS, { dedupe }), n, 20_000);
  });
  const [answers] = await Promise.all([Promise.all(callers), restarted]);
  expect(new Set(answers.map(({ request_id }) => request_id)).size).toBe(KEYS);
  for (const { directives } of answers)
    expect(directives[0]?.result).toMatchObject({ data: { result: { ok: true } } });
  expect(labelsOf(0, KEYS).toSorted()).toEqual(Array.from({ length: KEYS }, (_, n) => `read-${n}`));
});

test.concurrent('of what is debounced the last content runs, once, though one service is killed', async ({
  expect,
}) => {
  const debounce = { key: randomUUID(), quiet_ms: 1_500 };
  const lastOf = new Map<string, { label: string; id: string }>();
  for (let n = 100; n < 160; n += 1) {
    const { request_id, directives } = await submit(underKey(n, { debounce }), n);
    lastOf.set(request_id, { label: `read-${n}`, id: directives[0]?.id ?? '' });
  }
  // More than one only where this machine stood still for longer than the quiet.
  for (const [requestId, { id }] of lastOf)
    expect(await endOf(requestId, id)).toMatchObject({ status: 'succeeded' });
  expect(labelsOf(100, 160)).toEqual([...lastOf.values()].map(({ label }) => label));
});

test.concurrent('of what replaces one another no two have a claim at once, though one service is killed', async ({
  expect,
}) => {
  const singleton = { key: randomUUID(), when_open: 'replace' };
  const begun: { requestId: string; id: string }[] = [];
  for (let n = 200; n < 230; n += 1) {
    const { request_id: requestId, directives } = await submit(underKey(n, { singleton }, 50), n);
    begun.push({ requestId, id: directives[0]?.id ?? '' });
  }
  await restarted;
  const ends = await Promise.all(begun.map(async ({ requestId, id }) => endOf(requestId, id)));
  expect(ends.at(-1)).toMatchObject({ status: 'succeeded' });
  expect(ends.map(({ ended_at }) => ended_at)).not.toContain(null);
  const ran = ends.filter(({ started_at }) => started_at !== null);
  ran.sort((left, right) => Date.parse(left.started_at ?? '') - Date.parse(right.started_at ?? ''));
  for (const [at, each] of ran.entries()) {
    const next = ran[at + 1];
    if (next)
      expect(Date.parse(next.started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(each.ended_at ?? ''));
  }
});

test.concurrent('of runs that replace one another no two are open at once, though one service is killed', async ({
  expect,
}) => {
  const singleton = { key: randomUUID(), when_open: 'replace' };
  const begun: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const query = planOf(`run ${n}`, [['counting.read', { label: `planned-${n}`, delay_ms: 100 }]]);
    const started = await sent<StartedRun>('/v1/requests', { agent: 'planner', query, singleton }, n);
    begun.push(started.request_id);
  }
  await restarted;
  const views = async () =>
    Promise.all(
      begun.map(async (id) => {
        const { url } = services[1] as AdjutantProcess;
        return (await get<RequestView>(`${url}/v1/requests/${id}`)).body;
      }),
    );
  const closed = async () => (await views()).filter(({ status }) => status === 'closed').length;
  await expect.poll(closed, { interval: 20 }).toBe(begun.length);
  const ended = await views();
  expect(ended.at(-1)?.run).toMatchObject({ status: 'completed' });
  const ran = ended.filter(({ run }) => (run?.iterations ?? 0) > 0);
  for (const [at, { closed_at: closedAt }] of ran.entries()) {
    const started = ran[at + 1]?.run?.started_at;
    if (started) expect(Date.parse(started)).toBeGreaterThanOrEqual(Date.parse(closedAt ?? ''));
  }
});
