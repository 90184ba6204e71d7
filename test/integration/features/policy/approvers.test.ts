/** Rules that want another approver than the submitter, as deployments of GitHub that prevent self-review: each way to approve a call.
 *  Point 4 of issue 38: the caller that has submitted a call must not pass its policy alone. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { SCOPES } from '../../../../src/contract/access/access.ts';
import { ownId, scopedId } from '../../../../src/contract/access/tenant.ts';
import { newTraceparent } from '../../../../src/platform/telemetry/traces/trace-context.ts';
import { runCommand } from '../../../support/command.ts';
import { eventually, untilHolds } from '../../../support/eventually.ts';
import { openHost } from '../../../support/mcp-clients.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { json, startProvider } from '../../../support/provider-server.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';
import { openStore } from '../../../support/store.ts';

const ADMIN = randomBytes(32).toString('hex');
const redis = useRedis();

/** Has its tool called once, or twice. */
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    const text = JSON.stringify(request.body);
    const results = text.split('"role":"tool"').length - 1;
    const asks = text.includes('book first') && results === 0;
    const isDone = results > (/book first|twice/.test(text) ? 1 : 0);
    const called = asks
      ? { name: 'asking_book', arguments: '{}' }
      : { name: 'peer_echo', arguments: '{"text":"two"}' };
    const tool_calls = [{ id: 'c', type: 'function', function: called }];
    const message = isDone ? { content: 'done' } : { content: null, tool_calls };
    const choices = [{ index: 0, finish_reason: isDone ? 'stop' : 'tool_calls', message }];
    return json(200, { id: 'a', object: 'chat.completion', choices })(response, request, index);
  }),
);

describe('a rule that wants another approver', () => {
  const keyed = shared(async () => {
    const started = await startService({
      redisUrl: redis.url,
      environment: { ADJUTANT_ADMIN_KEY: ADMIN },
      config: {
        mcpServers: {
          peer: ownServerEntry('legacy-peer.ts'),
          asking: { ...ownServerEntry('asking-peer.ts', {}), questions: true },
        },
        providers: {
          main: { type: 'openai-compatible', base_url: `${provider.url}/v1`, models: { open: {} } },
        },
        agents: { clerk: { model: 'main:open', tools: ['peer.echo', 'asking.book'], stream: false } },
        policy: {
          rules: [{ name: 'two', when: 'tool == "peer.echo"', decision: 'ask', approver: 'other' }],
        },
      },
    });
    const access = createAccessClient({ baseUrl: started.url, apiKey: ADMIN });
    const of = async (name: string) => {
      const scopes = SCOPES.filter((scope) => scope !== 'admin');
      const { key } = await access.create({ name, scopes });
      return { key, client: createHttpClient({ baseUrl: started.url, apiKey: key }) };
    };
    const [own, other, third] = [await of('own'), await of('other'), await of('third')];
    await untilHolds(async () =>
      expect(JSON.stringify(await own.client.tools())).toMatch(
        /peer.echo.*asking.book|asking.book.*peer.echo/s,
      ),
    );
    return Object.assign(started, { own, other, third });
  });
  const directive = { type: 'tool_exec', tool_name: 'peer.echo', id: 'c', arguments: { text: 'two' } };
  const waiting = async (requestId: string): Promise<string> => {
    const asks = async () =>
      (await keyed.other.client.approvals()).approvals.filter(({ request_id: id }) => id === requestId);
    await eventually(async () => (await asks()).length).toBe(1);
    return (await asks())[0]?.call_id ?? '';
  };
  const submitted = async () => {
    const request_id = randomUUID();
    await keyed.own.client.submit({ ...directive, request_id } as never);
    await waiting(request_id);
    return request_id;
  };
  const ends = async (requestId: string, id = 'c') => {
    const { client } = keyed.other;
    await eventually(async () => (await client.directive(requestId, id))?.status).toMatch(/succeeded|failed/);
    return (await client.directive(requestId, id))?.result?.data as { result?: object } | undefined;
  };
  const approve = { decision: 'approve' } as const;
  const SELF = 'wants another approver of the call than its submitter, and this caller has submitted it';

  test('lets its submitter approve it in no way, and another caller in any', async () => {
    const requestId = await submitted();
    const { own, other, url } = keyed;
    const { client } = own;
    await expect(client.runs.decide(requestId, 'c', approve)).rejects.toThrow(SELF);
    await expect(client.answer(requestId, 'c.1', { action: 'accept', by: 'other' })).rejects.toThrow(SELF);
    const calls = [{ request_id: requestId, call_id: 'c' }];
    const { refused } = await client.runs.decideAll({ ...approve, calls });
    expect(JSON.stringify(refused)).toContain(SELF);
    const page = { origin: url, 'content-type': 'application/json' };
    const session = await fetch(`${url}/v1/session`, {
      method: 'POST',
      headers: page,
      body: JSON.stringify({ key: own.key }),
    });
    const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const { csrf_token: token } = (await (
      await fetch(`${url}/v1/session`, { headers: { ...page, cookie } })
    ).json()) as { csrf_token: string };
    const console = await fetch(`${url}/v1/requests/${requestId}/approvals/c`, {
      method: 'POST',
      headers: { ...page, cookie, 'x-adjutant-csrf': token },
      body: JSON.stringify(approve),
    });
    expect([session.status, console.status, await console.text()]).toEqual([
      204,
      403,
      expect.stringContaining(SELF),
    ]);
    const typed = await runCommand(['approve', requestId, 'c'], url, { ADJUTANT_API_KEY: own.key });
    expect([typed.code, typed.stderr]).toEqual([1, expect.stringContaining(SELF)]);
    await using operating = await openHost('modern', { url: `${url}/mcp/adjutant`, key: own.key });
    const decided = await operating.call('decide_call', { request_id: requestId, call_id: 'c', ...approve });
    expect([decided.isError, JSON.stringify(decided.content)]).toEqual([true, expect.stringContaining(SELF)]);
    expect((await client.directive(requestId, 'c'))?.status).toBe('waiting');
    await other.client.runs.decide(requestId, 'c', approve);
    expect(await ends(requestId)).toMatchObject({ result: { ok: true } });
  });

  test('lets its submitter deny it', async () => {
    const requestId = await submitted();
    await keyed.own.client.runs.decide(requestId, 'c', { decision: 'deny' });
    expect(await ends(requestId)).toMatchObject({ result: { error: { type: 'denied' } } });
  });

  test.each(['modern', 'legacy'] as const)('takes no approval of the %s host that calls', async (era) => {
    const messages: string[] = [];
    const shown = Promise.withResolvers<void>();
    const { url, own, other } = keyed;
    await using host = await openHost(era, { url: `${url}/mcp`, key: own.key }, undefined, ({ message }) => {
      messages.push(message);
      shown.resolve();
      return { action: 'accept', content: {} };
    });
    const text = randomUUID();
    const answer = host.call('peer__echo', { text });
    await shown.promise;
    const mine = async () =>
      (await other.client.approvals()).approvals.find(({ arguments: args }) => args?.includes(text));
    await eventually(mine).toBeTruthy();
    const { request_id: requestId = '', call_id: callId = '' } = (await mine()) ?? {};
    await other.client.runs.decide(requestId, callId, approve);
    expect(JSON.stringify(await answer)).toContain(text);
    expect(messages).toEqual([expect.stringContaining('Another caller than its submitter must approve it')]);
    const { signals } = await other.client.page(requestId);
    const answered = signals.flatMap(({ type, data }) =>
      type === 'ai.tool.input_answered' ? [(data as { by?: string }).by] : [],
    );
    expect(answered).toEqual(['other']);
  });

  test('counts as submitters the starter of a run and the caller that triggers a schedule', async () => {
    const { own, other } = keyed;
    const { request_id: run } = await own.client.runs.start({ agent: 'clerk', query: 'two' });
    await own.client.schedules.create({ id: 'nightly', cron: '0 3 * * *', directives: [directive] } as never);
    const { request_id: fired } = await own.client.schedules.trigger('nightly');
    for (const requestId of [run, fired ?? '']) {
      const id = await waiting(requestId);
      await expect(own.client.runs.decide(requestId, id, approve)).rejects.toThrow(SELF);
      await other.client.runs.decide(requestId, id, approve);
      expect(await ends(requestId, id)).toMatchObject({ result: { ok: true } });
    }
  });

  // One caller alone would say what is called, and pass it.
  // The model reads the reason of a denial, and calls again as it says.
  test.each(['input', 'arguments', 'answer', 'reason', 'reason of the policy'] as const)(
    'counts as a submitter the caller that gives the run of another one its %s',
    async (way) => {
      const { own, other, third } = keyed;
      const overrides = way === 'arguments' || way === 'reason' ? { approvals: { 'peer.echo': 'ask' } } : {};
      const { request_id: run } = await own.client.runs.start({
        agent: 'clerk',
        query:
          { answer: 'book first', reason: 'twice', 'reason of the policy': 'twice' }[way as string] ?? 'two',
        overrides,
      } as never);
      if (way === 'input') await other.client.runs.input(run, { content: 'and this' } as never);
      else if (way === 'arguments') {
        const asked = await waiting(run);
        await other.client.runs.decide(run, asked, { ...approve, arguments: { text: 'mine' } });
      } else if (way !== 'answer') {
        const denied = await waiting(run);
        await other.client.runs.decide(run, denied, { decision: 'deny', reason: 'call it with two' });
        if (way === 'reason') {
          await eventually(async () => waiting(run)).not.toBe(denied);
          await third.client.runs.decide(run, await waiting(run), approve);
        }
      } else {
        const question = async () =>
          (await own.client.request(run))?.directives.flatMap(({ inputs = [] }) => inputs)[0]?.input_id ?? '';
        await eventually(question).not.toBe('');
        await other.client.answer(run, await question(), { action: 'accept', content: { seats: 2 } });
      }
      const policyAsks = async () =>
        (await own.client.request(run))?.directives.find(
          ({ status, lane }) => status === 'waiting' && lane === 'tool.peer',
        )?.id ?? '';
      await eventually(policyAsks).not.toBe('');
      const id = await policyAsks();
      const STEERED = 'this caller has told the run what to do';
      await expect(other.client.runs.decide(run, id, approve)).rejects.toThrow(STEERED);
      await third.client.runs.decide(run, id, approve);
      expect(await ends(run, id)).toMatchObject({ result: { ok: true } });
    },
  );
});

test('a caller that has told a run what to do has told its child runs and its parent so, and no run that does not exist', async () => {
  await using open = await openStore(redis.url);
  const { runs } = open.store.records;
  const [top, below] = [scopedId('acme', randomUUID()), scopedId('acme', randomUUID())];
  const common = { digest: 'd', agent: 'a', traceparent: newTraceparent() };
  await runs.start({ ...common, requestId: top, spec: JSON.stringify({ parent: null }) });
  const parent = { request_id: ownId(top), tag: 't', depth: 1 };
  await runs.start({ ...common, requestId: below, spec: JSON.stringify({ parent }) });
  const issuer = 'https://issuer.example';
  await runs.noteSteering(top, { key: 'oidc:ada', issuer });
  await runs.noteSteering('none', { key: 'k' });
  // The parent goes on with what its child was told.
  await runs.noteSteering(below, { key: 'lower' });
  const seen = [
    await runs.hasSteered(below, { key: 'jwt:ada', issuer }),
    await runs.hasSteered(below, { key: 'oidc:bob', issuer }),
    await runs.hasSteered(below, { key: 'ada' }),
    await runs.hasSteered('none', { key: 'k' }),
    await runs.hasSteered(top, { key: 'lower' }),
  ];
  expect(seen).toEqual([true, false, false, false, true]);
});
