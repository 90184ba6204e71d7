/** What a request did and when, from the journal of real processes alone: every attempt with its end, and the drawing of it.
 *  It must not depend on how fast anything is. */
import { describe, expect, test } from 'vitest';
import {
  type RequestTrace,
  requestTraceSchema,
  type TracedDirective,
} from '../../src/contract/request/request-trace.ts';
import { type RequestTimeline, requestTimelineSchema } from '../../src/contract/request/request-timeline.ts';
import { runCommand } from '../support/command.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { get, post } from '../support/public-api.ts';
import { shared } from '../support/shared.ts';
import { TRACED_REQUESTS } from '../support/traced-requests.ts';
import { look, openScenes } from '../support/traced-scenes.ts';

const collector = shared(startOtlpReceiver);
/** The service has no endpoint: the journal alone knows. */
const scenes = shared(() => openScenes(collector.url, { isRecorded: false }));

async function begun(name: string): Promise<string> {
  const request = TRACED_REQUESTS.find((each) => each.name === name);
  if (request === undefined) throw new Error(`nothing is named ${name}`);
  return (await request.begin(scenes)).requestId;
}

async function traced(requestId: string): Promise<RequestTrace> {
  const { body } = await get<RequestTrace>(`${scenes.url}/v1/requests/${requestId}/trace`);
  expect(requestTraceSchema.parse(body)).toEqual(body);
  return body;
}

async function timed(requestId: string): Promise<RequestTimeline> {
  const { body } = await get<RequestTimeline>(`${scenes.url}/v1/requests/${requestId}/timeline`);
  expect(requestTimelineSchema.parse(body)).toEqual(body);
  return body;
}

/** The attempts without their instants, which must follow each other. */
function attemptsOf({ attempts }: TracedDirective): string[] {
  return attempts.map((each) => {
    const { attempt, outcome, reason, redelivered, due_at: due, claimed_at: claimed, ended_at: to } = each;
    const instants = [due, claimed, to].map((instant) => Date.parse(instant ?? ''));
    expect(instants).toEqual(instants.toSorted((left, right) => left - right));
    return `${attempt} ${outcome}${reason === null ? '' : ` ${reason}`}${redelivered ? ' (redelivered)' : ''}`;
  });
}

const DIRECTIVES: [string, string, string[]][] = [
  ['a tool call', 'succeeded', ['1 succeeded']],
  ['a retry', 'succeeded', ['1 retry execution_error', '2 succeeded']],
  ['a fallback', 'succeeded', ['1 fallback provider_error', '2 succeeded']],
  ['a call that is cancelled as it runs', 'failed', ['1 cancelled cancelled']],
  ['a call that is cancelled as it waits for its retry', 'failed', ['1 retry execution_error']],
  ['a tool that nobody has', 'failed', []],
  ['a call whose worker is killed', 'succeeded', ['1 worker_lost worker_lost', '2 succeeded (redelivered)']],
];

describe('the attempts of', () => {
  test.each(DIRECTIVES)('%s', async (name, status, attempts) => {
    const { directives, status: closed } = await traced(await begun(name));
    expect(directives.map((each) => [each.status, attemptsOf(each)])).toEqual([[status, attempts]]);
    expect(closed).toBe('closed');
  });
});

test('the timeline of a request has its attempts and waits as intervals', async () => {
  // The tool counts the failures of each name: that of another test has failed already.
  const call = { ...look('timeline', { failures: 1 }), max_retries: 1 };
  const { directives } = await timed((await scenes.directive(call)).requestId);
  const [only] = directives;
  expect(only?.attempts.map(({ n, outcome }) => [n, outcome])).toEqual([
    [1, 'retry'],
    [2, 'succeeded'],
  ]);
  const { accepted_at, attempts = [], waits = [] } = only ?? {};
  const [first, second] = attempts.map(({ claimed_at }) => claimed_at);
  // What is handed over to a worker has waited for nothing.
  const waited = first === accepted_at ? [] : [[accepted_at, first]];
  expect(waits.map(({ kind, from, until, open }) => [kind, from, until, open])).toEqual(
    [...waited, [attempts[0]?.ended_at, second]].map((interval) => ['queue', ...interval, false]),
  );
  const { status } = await get(`${scenes.url}/v1/requests/nobody/timeline`);
  expect(status).toBe(404);
});

test('the tree of a run has its turns, what they sent, and its children', async () => {
  const requestId = await begun('a run with a child');
  const { run, directives } = await traced(requestId);
  expect(run).toMatchObject({
    agent: 'lead',
    status: 'completed',
    turns_left_out: 0,
    parent_request_id: null,
  });
  expect(run?.turns.map(({ turn }) => turn)).toEqual(run?.turns.map((_, index) => index + 1));
  expect(directives.map(({ name, turn }) => [name, turn])).toEqual([
    ['script:m', 1],
    ['guide.hand_over', 2],
    ['script:m', expect.any(Number)],
  ]);
  const [child] = run?.children ?? [];
  expect(child).toMatchObject({ tag: expect.any(String) as string, status: 'completed', turn: 4 });
  const below = await traced(child?.request_id ?? '');
  expect(below.run).toMatchObject({ agent: 'helper', parent_request_id: requestId });
});

test('an approval is between what asked for it and the call', async () => {
  const { directives } = await traced(await begun('a run with an approval'));
  const call = directives.find(({ name }) => name === 'traced.look');
  expect(call?.events.map(({ type, message }) => [type, message])).toEqual([
    ['ai.tool.approval_requested', 'traced.look'],
    ['ai.tool.approval_decided', 'approve'],
  ]);
});

test('adjutant trace draws the tree, with the child below the turn that began it', async () => {
  const requestId = await begun('a run with a child');
  const { code, stdout } = await runCommand(['trace', requestId], scenes.url);
  expect(code).toBe(0);
  const [head, page, ...lines] = stdout.trimEnd().split('\n');
  expect(head).toMatch(`${requestId}  run lead  completed (final_answer)  `);
  expect(page).toMatch(/^trace http/);
  const names = lines.map((line) => /^(.*?) *│[ ╌━●]*│/.exec(line)?.[1]);
  expect(names.slice(0, 4)).toEqual(['├─ turn 1', '│  └─ script:m', '├─ turn 2', '│  └─ guide.hand_over']);
  expect(names.find((name) => name?.includes('run helper'))).toMatch(/^│ {2}[├└]─ run helper /);
  const json = await runCommand(['trace', requestId, '--json'], scenes.url);
  const traces = json.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RequestTrace);
  expect(traces.map(({ run }) => run?.agent)).toEqual(['lead', 'helper']);
});

test('of many directives the answer holds as many as it was asked for, and counts the others', async () => {
  const { url } = scenes;
  const directives = ['a', 'b', 'c'].map((id) => ({
    type: 'emit_tool_error',
    id,
    tool_name: 'x',
    error: 'no',
  }));
  const { body } = await post<{ request_id: string }>(`${url}/v1/directives`, { directives });
  const some = await get<RequestTrace>(`${url}/v1/requests/${body.request_id}/trace?limit=2`);
  expect(some.body).toMatchObject({ directives: [{ id: 'a' }, { id: 'b' }], directives_left_out: 1 });
  const { status } = await get(`${url}/v1/requests/${body.request_id}/trace?limit=1001`);
  expect(status).toBe(400);
});

test('a request that is not there is refused, with what to do', async () => {
  const { code, stderr } = await runCommand(['trace', 'no/such\u001B[2J'], scenes.url);
  expect(code).not.toBe(0);
  expect(stderr).not.toContain('\u001B');
  const unknown = await runCommand(['trace', 'no-such-request'], scenes.url);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toMatch(/^error not_found: .*no-such-request.*\n +fix Check the id or name; /);
});
