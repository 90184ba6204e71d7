/** Calls without an agent that wait for the approval of a person, through the whole service: HTTP and the command line decide.
 *  It must never decide for a person: only the public doors are used. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { runCommand } from '../../support/command.ts';
import { eventually, untilListed } from '../../support/eventually.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { refusal } from '../../support/pipeline.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const peer = ownServerEntry('legacy-peer.ts');
const service = shared(async () => {
  const started = await startService({
    redisUrl: redis.url,
    config: {
      mcpServers: {
        guarded: { ...peer, approve: ['echo'], lane: { concurrency: 1 } },
        hasty: { ...peer, approve: ['*'], approve_timeout_ms: 1_000 },
      },
    },
  });
  await untilListed(started.url, 'guarded.echo', 'hasty.echo');
  return started;
});
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

async function start(tool_name = 'guarded.echo', fields: object = {}): Promise<string> {
  const request_id = randomUUID();
  await client.submit({
    type: 'tool_exec',
    tool_name,
    id: 'c',
    request_id,
    arguments: { text: 'pay', password: 'hunter2' },
    ...fields,
  });
  return request_id;
}

const waiting = async (requestId: string) =>
  (await client.approvals()).approvals.filter(({ request_id: id }) => id === requestId);
const asked = async (requestId: string) => eventually(async () => (await waiting(requestId)).length).toBe(1);
const statusOf = async (requestId: string) => (await client.directive(requestId, 'c'))?.status;
const errorOf = async (requestId: string) => {
  const data = (await client.directive(requestId, 'c'))?.result?.data;
  return (data as { result?: { error?: unknown } } | undefined)?.result?.error;
};

/** Issue 35, point 9. */
describe('a call that its server’s `approve` names', () => {
  test('waits without a place in its lane, as an approval with its arguments, and is made once it is approved', async () => {
    const requestId = await start();
    await asked(requestId);
    expect(await waiting(requestId)).toMatchObject([
      {
        kind: 'approval',
        call_id: 'c',
        input_id: null,
        tool: 'guarded.echo',
        agent: null,
        arguments: '{"text":"pay","password":"[REDACTED]"}',
      },
    ]);
    // The list of requests names it an approval, not a question of its tool.
    await eventually(
      async () =>
        (await client.requests({ status: 'waiting' })).requests.find(({ request_id: id }) => id === requestId)
          ?.waiting_for,
    ).toEqual(['approval']);
    // The only place of the lane is free for a call that needs no approval.
    const other = await client.execute({
      type: 'tool_exec',
      tool_name: 'guarded.add',
      arguments: { a: 1, b: 2 },
    } as never);
    expect(other).toBeDefined();
    expect(await statusOf(requestId)).toBe('waiting');
    expect(await client.runs.decide(requestId, 'c', { decision: 'approve', by: 'ann' })).toMatchObject({
      request_id: requestId,
      call_id: 'c',
      decision: 'approve',
      by: 'ann',
    });
    await eventually(() => statusOf(requestId)).toBe('succeeded');
    expect(await waiting(requestId)).toEqual([]);
    expect((await refusal(client.runs.decide(requestId, 'c', { decision: 'deny' }))).code).toBe('not_found');
  });

  test('whose server is a member of its own, as `/mcp` submits it, is asked about under the name with the server', async () => {
    const requestId = await start('echo', { server: 'guarded' });
    await asked(requestId);
    expect(await waiting(requestId)).toMatchObject([
      { tool: 'guarded.echo', message: expect.stringContaining('the call of `guarded.echo`') },
    ]);
    await client.runs.decide(requestId, 'c', { decision: 'deny' });
  });

  test('is denied with its reason by the command that `get` names, and the tool is not called', async () => {
    const requestId = await start();
    await asked(requestId);
    const { stdout } = await runCommand(['get', requestId], service.url);
    expect(stdout).toContain(`adjutant approve ${requestId} c`);
    expect(stdout).toContain(`adjutant deny ${requestId} c`);
    const { code } = await runCommand(['deny', requestId, 'c', '--reason', 'too dear'], service.url);
    expect(code).toBe(0);
    await eventually(() => errorOf(requestId)).toMatchObject({
      type: 'denied',
      message: 'The call of `guarded.echo` was denied: too dear',
    });
  });

  test('is approved as it is: other arguments are refused, and another decision too', async () => {
    const requestId = await start();
    await asked(requestId);
    const edited = { decision: 'approve' as const, arguments: { text: 'more' } };
    expect((await refusal(client.runs.decide(requestId, 'c', edited))).code).toBe('invalid_body');
    await client.cancel(requestId);
  });

  test('ends with an error that says so when no one decides in time', async () => {
    const requestId = await start('hasty.echo');
    await eventually(() => errorOf(requestId)).toMatchObject({ type: 'approval_expired' });
  });

  test('can be cancelled while it waits', async () => {
    const requestId = await start();
    await asked(requestId);
    await client.cancel(requestId);
    await eventually(() => errorOf(requestId)).toMatchObject({ type: 'cancelled' });
    expect((await refusal(client.runs.decide(requestId, 'c', { decision: 'approve' }))).code).toBe(
      'not_found',
    );
  });

  test('has a day, and its deadline does not pass meanwhile', async () => {
    const requestId = await start('guarded.echo', { deadline_ms: 600_000 });
    await asked(requestId);
    const [approval] = await waiting(requestId);
    expect(Date.parse(approval?.deadline_at ?? '') - Date.now()).toBeGreaterThan(23 * 3_600_000);
    const view = await client.directive(requestId, 'c');
    expect(Date.parse(view?.deadline_at ?? '')).toBeGreaterThan(Date.parse(approval?.deadline_at ?? ''));
    await client.cancel(requestId);
  });

  test('is approved together with others', async () => {
    const [one, other] = [await start(), await start()];
    await asked(one);
    await asked(other);
    const calls = [one, other].map((request_id) => ({ request_id, call_id: 'c' }));
    const { decided } = await client.runs.decideAll({ decision: 'approve', calls });
    expect(decided.map(({ request_id }) => request_id)).toEqual([one, other]);
    for (const id of [one, other]) await eventually(() => statusOf(id)).toBe('succeeded');
    // As a single decision: the same again is the same, another one is refused, and so is what does not wait.
    expect((await client.runs.decideAll({ decision: 'approve', calls })).refused).toEqual(
      await Promise.all(
        calls.map(async (call) => {
          const { code, detail } = await refusal(
            client.runs.decide(call.request_id, call.call_id, { decision: 'approve' }),
          );
          return { ...call, code, detail };
        }),
      ),
    );
  });

  test('is decided about with all others by the command line, of a request, an agent or a tool', async () => {
    const [one, other, third] = [await start(), await start(), await start()];
    for (const id of [one, other, third]) await asked(id);
    const seen = await runCommand(['approve', '--all', '--dry-run', '--tool', 'guarded.*'], service.url);
    for (const id of [one, other, third]) expect(seen.stdout).toContain(`${id}/c`);
    expect(seen.stdout).toContain('would be approved');
    expect(seen.stdout).not.toContain('hunter2');
    const none = await runCommand(['approve', '--all', '--agent', 'clerk'], service.url);
    expect([none.code, none.stdout]).toEqual([0, 'nothing waits for a decision\n']);
    const denied = await runCommand(['deny', one, '--all', '--reason', 'too much'], service.url);
    expect([denied.code, denied.stdout]).toEqual([0, expect.stringContaining(`${one}/c`)]);
    await eventually(() => statusOf(one)).toBe('failed');
    expect((await waiting(other)).length).toBe(1);
    const all = await runCommand(['approve', '--all', '--by', 'Ada', '--json'], service.url);
    expect(JSON.parse(all.stdout)).toMatchObject({
      decided: expect.arrayContaining(
        [other, third].map((request_id) => expect.objectContaining({ request_id, by: 'Ada' })),
      ),
      refused: [],
    });
    for (const id of [other, third]) await eventually(() => statusOf(id)).toBe('succeeded');
    const edited = await runCommand(['approve', '--all', '--arguments', '{}'], service.url);
    expect([edited.code, edited.stderr]).toEqual([2, expect.stringContaining('calls as they are')]);
    const others = await runCommand(['approve', '--all', '--tenant', '*'], service.url);
    expect([others.code, others.stderr]).toEqual([2, expect.stringContaining('--all --dry-run')]);
  });
});
