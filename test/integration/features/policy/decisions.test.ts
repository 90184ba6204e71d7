/** Rules of an operator about calls, through the whole service.
 *  It stands for point 4 of issue 38: each decision, each way in, counters under concurrency and kill -9, rules that fail, names that attack. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { SCOPES } from '../../../../src/contract/access/access.ts';
import { inputIdOf } from '../../../../src/contract/tool/tool-question.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import { runCommand } from '../../../support/command.ts';
import { eventually, untilHolds, untilListed } from '../../../support/eventually.ts';
import { done, fails, inTurn } from '../../../support/executors.ts';
import { claimOf, LANE, originOf } from '../../../support/journal.ts';
import { openHost } from '../../../support/mcp-clients.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { openPipeline } from '../../../support/pipeline.ts';
import { spawnNode } from '../../../support/process.ts';
import { programOf } from '../../../support/program.ts';
import { json, startProvider } from '../../../support/provider-server.ts';
import { startProducer } from '../../../support/queue-producer.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';
import { openStore } from '../../../support/store.ts';
import { createCallPolicy } from '../../../../src/features/policy/call-policy.ts';
import { compileRules } from '../../../../src/features/policy/rules.ts';
import { createPolicyCounters } from '../../../../src/features/policy/counters.ts';
import { UncountedCall } from '../../../../src/features/policy/rules.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../../support/doomed-worker.ts', import.meta.url)));
const ADMIN = randomBytes(32).toString('hex');
const redis = useRedis();

/** Has its tool called with what the query says, and then repeats the tool's answer. */
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    const { messages } = request.body as { messages: { role: string; content: string }[] };
    const query = messages.find(({ role }) => role === 'user')?.content ?? '';
    const answer = messages.find(({ role }) => role === 'tool')?.content;
    const answers = (message: object, finish_reason: string) => {
      const choices = [{ index: 0, finish_reason, message }];
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      return json(200, { id: 'a', object: 'chat.completion', choices, usage })(response, request, index);
    };
    // As tools of `asking` ask.
    if (/^(sum up|again)/.test(query)) return answers({ content: 'in short' }, 'stop');
    const call = {
      id: `c${index}`,
      type: 'function',
      function: { name: 'peer_echo', arguments: JSON.stringify({ text: query }) },
    };
    const message =
      answer === undefined ? { content: null, tool_calls: [call] } : { content: `read: ${answer}` };
    return answers(message, answer === undefined ? 'tool_calls' : 'stop');
  }),
);

const SAMPLED = "kind == 'llm_generate' && server == 'asking'";
const asking = (model: string, env: Record<string, string>) => ({
  ...ownServerEntry('asking-peer.ts', env),
  questions: true,
  sampling: { model, max_tokens: 100 },
});

const service = shared(async () => {
  const started = await startService({
    redisUrl: redis.url,
    config: {
      mcpServers: {
        peer: ownServerEntry('legacy-peer.ts'),
        asking: asking('main:open', {}),
        dear: asking('main:dear', { ASKING_ERA: 'legacy' }),
      },
      providers: {
        main: {
          type: 'openai-compatible',
          base_url: `${provider.url}/v1`,
          models: { open: {}, secret: {}, dear: {}, costly: {} },
        },
      },
      models: { either: ['main:open', 'main:secret'], cheap: ['main:open'], hidden: ['main:secret'] },
      budgets: {
        rules: {
          dear: { alias: 'main:dear', tokens_per_day: 1, on_breach: 'cheaper', cheaper: 'hidden' },
          costly: { alias: 'main:costly', tokens_per_day: 1, on_breach: 'cheaper', cheaper: 'cheap' },
        },
      },
      agents: { clerk: { model: 'main:open', tools: ['peer.echo'], stream: false } },
      policy: {
        counters: {
          added: { of: 'tool == "peer.add"', sum: 'args.a' },
          sampled: { of: SAMPLED, per: 'request' },
          secrets: { of: 'tool == "peer.echo" && args.text == "secret"', per: 'request' },
        },
        rules: [
          {
            name: 'not-sampled',
            when: `${SAMPLED} && request.like('deny-*')`,
            decision: 'deny',
            reason: 'Not so.',
          },
          { name: 'sampled-by-person', when: `${SAMPLED} && request.like('ask-*')`, decision: 'ask' },
          {
            name: 'sampled-twice',
            when: `${SAMPLED} && request.like('limit-*')`,
            decision: 'limit',
            counter: 'sampled',
            at_most: 2,
          },
          { name: 'no-secret', when: "model == 'main:secret'", decision: 'deny' },
          {
            name: 'no-word',
            when: 'tool == "peer.echo" && args.text.contains("drop")',
            decision: 'deny',
            reason: 'Not here.',
          },
          { name: 'after-secret', when: 'tool == "peer.add" && counters.secrets > 0', decision: 'deny' },
          {
            name: 'person',
            when: 'tool == "peer.echo" && args.text == "ask"',
            decision: 'ask',
            reason: 'Careful.',
          },
          {
            name: 'four-eyes',
            when: 'tool == "peer.echo" && args.text == "other"',
            decision: 'ask',
            approver: 'other',
          },
          { name: 'sum', when: 'tool == "peer.add"', decision: 'limit', counter: 'added', at_most: 50 },
          {
            name: 'broken',
            when: 'tool == "peer.echo" && args.text == "late" && args.nothing.there == 1',
            decision: 'allow',
          },
          { name: 'by-value', when: 'has(args.key) && args.table[args.key] == 1', decision: 'deny' },
          {
            name: 'loop',
            when: 'has(args.items) && args.items.exists(x, args.text.contains(x))',
            decision: 'deny',
          },
        ],
      },
    },
  });
  await untilListed(started.url, 'peer.echo', 'peer.add');
  return started;
});
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

async function call(tool_name: string, args: object, requestId: string = randomUUID(), id = 'c') {
  const directive = { type: 'tool_exec', tool_name, id, request_id: requestId, arguments: args };
  await client.submit(directive as never);
  return requestId;
}
const resultOf = async (requestId: string, id = 'c') => {
  const data = (await client.directive(requestId, id))?.result?.data;
  return (data as { result?: { ok: boolean; error?: { type: string } } } | undefined)?.result;
};
const ended = async (requestId: string, id = 'c') => {
  await eventually(async () => (await client.directive(requestId, id))?.status).toMatch(/succeeded|failed/);
  return resultOf(requestId, id);
};
const decisions = async (requestId: string) => {
  const { signals } = await client.page(requestId);
  return signals.filter(({ type }) => type === 'directive.policy_decided').map(({ data }) => data);
};

describe('the rules of an operator', () => {
  test('deny a call by its arguments, with the rule and its reason and without the arguments', async () => {
    const requestId = await call('peer.echo', { text: 'drop it' });
    expect(await ended(requestId)).toMatchObject({
      ok: false,
      error: {
        type: 'policy_denied',
        message: 'The call is denied by the rule "no-word": Not here.',
        retryable: false,
      },
    });
    expect(await decisions(requestId)).toMatchObject([{ decision: 'deny', rule: 'no-word', call_id: 'c' }]);
    expect(JSON.stringify(await decisions(requestId))).not.toContain('drop');
    const other = await call('peer.echo', { text: 'hello' });
    expect(await ended(other)).toMatchObject({ ok: true });
    expect(await decisions(other)).toEqual([]);
  });

  test('know a tool by one name, however often its server is put before it', async () => {
    for (const fields of [{ tool_name: 'echo' }, { tool_name: 'peer.echo', server: 'peer' }]) {
      const request_id = randomUUID();
      await client.submit({
        type: 'tool_exec',
        id: 'c',
        request_id,
        arguments: { text: 'drop' },
        ...fields,
      } as never);
      expect((await ended(request_id))?.error?.type).toBe('policy_denied');
    }
  });

  test('decide about what a program submits by Redis, past the API', async () => {
    const direct = await createDirectClient({ redisUrl: redis.url, prefix: service.prefix });
    const request_id = randomUUID();
    const directive = {
      type: 'tool_exec',
      tool_name: 'peer.echo',
      id: 'c',
      request_id,
      arguments: { text: 'drop' },
    };
    await direct.submit(directive as never);
    await direct.close();
    expect((await ended(request_id))?.error?.type).toBe('policy_denied');
  });

  test('decide about calls of MCP hosts, of runs, of runs that other programs lead, of BullMQ and of schedules', async () => {
    for (const place of ['/mcp', '/mcp/peer', '/runs/led/mcp']) {
      await using host = await openHost('modern', `${service.url}${place}`);
      const name = place === '/mcp/peer' ? 'echo' : 'peer__echo';
      const answer = await host.call(name, { text: 'drop' });
      expect(answer).toMatchObject({ isError: true });
      expect(JSON.stringify(answer.content)).toContain('policy_denied');
    }
    const run = await client.runs.run({ agent: 'clerk', query: 'drop' });
    expect(run.status).toBe('completed');
    const asked = provider.seen.map(({ text }) => text).find((text) => text.includes('"role":"tool"'));
    expect(asked).toMatch(/policy_denied.*The call is denied by the rule .*no-word.*Not here\./);
    await using producer = await startProducer({ port: Number(new URL(redis.url).port) }, service.prefix);
    const job = { type: 'tool_exec', tool_name: 'peer.echo', arguments: { text: 'drop' } };
    expect(await producer.failed(await producer.queue.add('call', job))).toMatchObject({
      type: 'policy_denied',
    });
    const directives = [{ ...job, id: 'c' }];
    await client.schedules.create({ id: 'daily', cron: '0 3 * * *', directives } as never);
    const { request_id: fired } = await client.schedules.trigger('daily');
    expect((await ended(fired ?? ''))?.error?.type).toBe('policy_denied');
  });

  test('decide about models, of several candidates by the strictest', async () => {
    for (const [model, denied] of [
      ['main:secret', true],
      ['either', true],
      ['main:open', false],
    ] as const) {
      const request_id = randomUUID();
      const context = [{ role: 'user', content: 'hello' }];
      await client.submit({ type: 'llm_generate', id: 'c', request_id, model, context } as never);
      const result = await ended(request_id);
      expect(result?.error?.type === 'policy_denied').toBe(denied);
    }
  });

  // The cheaper models of a budget are in no list of the directive.
  test('decide about the cheaper models that a budget goes on with', async () => {
    const asked = () => provider.seen.filter(({ body }) => Object(body).model === 'secret').length;
    const before = asked();
    const outcome = async (model: string) => {
      const request_id = randomUUID();
      const context = [{ role: 'user', content: 'hello' }];
      await client.submit({ type: 'llm_generate', id: 'c', request_id, model, context } as never);
      return { result: await ended(request_id), decided: await decisions(request_id) };
    };
    expect(await outcome('main:dear')).toMatchObject({
      result: { ok: false, error: { type: 'policy_denied' } },
      decided: [{ decision: 'deny', rule: 'no-secret', models: ['main:secret'] }],
    });
    expect(asked()).toBe(before);
    expect((await outcome('main:costly')).result).toMatchObject({ ok: true });
  });

  describe('about a model that a tool asks during its call', () => {
    const sampled = async (kind: string, tool: string) => {
      const asks = () => provider.seen.filter(({ text }) => /"(sum up|again)/.test(text)).length;
      const before = asks();
      const requestId = await call(tool, { label: 'x' }, `${kind}-${randomUUID()}`);
      const said = JSON.stringify(await ended(requestId));
      return { said, asked: asks() - before, decided: await decisions(requestId) };
    };

    test('deny it, as a decision to ask does, with the rule and before the provider is asked', async () => {
      const models = ['main:open'];
      const denied = await sampled('deny', 'asking.sum-up');
      expect(denied.said).toContain('denied by the rule \\"not-sampled\\": Not so.');
      expect(denied).toMatchObject({
        asked: 0,
        decided: [{ decision: 'deny', rule: 'not-sampled', models }],
      });
      const unasked = await sampled('ask', 'asking.sum-up');
      expect(unasked.said).toContain('A person cannot be asked while a tool waits for its model');
      expect(unasked).toMatchObject({ asked: 0, decided: [{ decision: 'deny', rule: 'sampled-by-person' }] });
      expect(await sampled('free', 'asking.sum-up')).toMatchObject({ asked: 1, decided: [] });
    });

    test('count each of its requests once', async () => {
      const { said, asked, decided } = await sampled('limit', 'asking.sum-for-ever');
      expect(said).toContain('denied by the rule \\"sampled-twice\\"');
      expect([asked, decided.length]).toEqual([2, 1]);
    });

    test('decide about the cheaper models of a budget', async () => {
      const { said, asked, decided } = await sampled('free', 'dear.sum-up');
      expect(said).toContain('denied by the rule \\"no-secret\\"');
      expect(asked).toBe(0);
      expect(decided).toMatchObject([{ decision: 'deny', rule: 'no-secret', models: ['main:secret'] }]);
    });
  });

  test('ask a person, once, and the call is made when it is approved', async () => {
    const requestId = await call('peer.echo', { text: 'ask' });
    const waiting = async () =>
      (await client.approvals()).approvals.filter(({ request_id: id }) => id === requestId);
    await eventually(async () => (await waiting()).length).toBe(1);
    await client.runs.decide(requestId, 'c', { decision: 'approve' });
    expect(await ended(requestId)).toMatchObject({ ok: true });
    expect(await decisions(requestId)).toMatchObject([
      { decision: 'ask', rule: 'person', reason: 'Careful.' },
    ]);
  });

  test('a sum is never above its limit, however many calls are made at once', async () => {
    const requests = await Promise.all(
      Array.from({ length: 20 }, async () => call('peer.add', { a: 10, b: 1 })),
    );
    const results = await Promise.all(requests.map(async (requestId) => ended(requestId)));
    expect(results.filter((result) => result?.ok === true).length).toBe(5);
    expect(results.filter((result) => result?.error?.type === 'policy_denied').length).toBe(15);
    // A negative amount would make room for others.
    expect((await ended(await call('peer.add', { a: -50, b: 1 })))?.error?.type).toBe('policy_denied');
    expect((await ended(await call('peer.add', { a: 10, b: 1 })))?.error?.type).toBe('policy_denied');
  });

  test('know what the request has done before', async () => {
    const requestId = await call('peer.echo', { text: 'secret' });
    expect(await ended(requestId)).toMatchObject({ ok: true });
    await call('peer.add', { a: 0, b: 1 }, requestId, 'd');
    await ended(requestId, 'd');
    expect(await decisions(requestId)).toMatchObject([{ rule: 'after-secret', decision: 'deny' }]);
    expect(await ended(await call('peer.add', { a: 0, b: 1 }))).toMatchObject({ ok: true });
  });

  test('close when they cannot be evaluated, and read only what the arguments own', async () => {
    const requestId = await call('peer.echo', { text: 'late' });
    expect((await ended(requestId))?.error?.type).toBe('policy_denied');
    expect(await decisions(requestId)).toMatchObject([{ rule: 'broken', failed: 'No such key: nothing' }]);
    const hostile = JSON.parse(
      '{"text":"drop","constructor":{"name":"x"},"toString":1,"valueOf":{}}',
    ) as object;
    expect((await ended(await call('peer.echo', hostile)))?.error?.type).toBe('policy_denied');
    const secret = await call('peer.echo', { text: 'by value', key: 'sk-live-1', table: {} });
    expect((await ended(secret))?.error?.type).toBe('policy_denied');
    expect(await decisions(secret)).toMatchObject([{ rule: 'by-value', failed: 'No such key' }]);
    expect(JSON.stringify(await resultOf(secret))).not.toContain('sk-live');
  });

  // An expression of this form took 8 s of the event loop over arguments of 250,000 characters.
  test('close where a loop would read large arguments again and again', async () => {
    const items = Array.from({ length: 300 }, () => 'y');
    const large = await call('peer.echo', { text: 'x'.repeat(10_000), items });
    expect((await ended(large))?.error?.type).toBe('policy_denied');
    expect(await decisions(large)).toMatchObject([
      { rule: 'loop', failed: expect.stringContaining('too large for the rules') as string },
    ]);
    const small = await call('peer.echo', { text: 'x', items });
    await ended(small);
    expect(await decisions(small)).toEqual([]);
  });
});

/** Four-eyes approval, as of GitHub's deployments that prevent self-review. */
describe('a rule that wants another approver', () => {
  const keyed = shared(async () => {
    const started = await startService({
      redisUrl: redis.url,
      environment: { ADJUTANT_ADMIN_KEY: ADMIN },
      config: {
        mcpServers: { peer: ownServerEntry('legacy-peer.ts') },
        providers: {
          main: { type: 'openai-compatible', base_url: `${provider.url}/v1`, models: { open: {} } },
        },
        agents: { clerk: { model: 'main:open', tools: ['peer.echo'], stream: false } },
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
    const [own, other] = [await of('own'), await of('other')];
    await untilHolds(async () => expect(JSON.stringify(await own.client.tools())).toContain('peer.echo'));
    return Object.assign(started, { own, other });
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
    return ((await client.directive(requestId, id))?.result?.data as { result: object }).result;
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
    expect(await ends(requestId)).toMatchObject({ ok: true });
  });

  test('lets its submitter deny it', async () => {
    const requestId = await submitted();
    await keyed.own.client.runs.decide(requestId, 'c', { decision: 'deny' });
    expect(await ends(requestId)).toMatchObject({ error: { type: 'denied' } });
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
      expect(await ends(requestId, id)).toMatchObject({ ok: true });
    }
  });

  test('takes no approval where callers have no keys', async () => {
    const requestId = await call('peer.echo', { text: 'other' });
    const decide = async (decision: 'approve' | 'deny') => client.runs.decide(requestId, 'c', { decision });
    await eventually(async () => (await client.directive(requestId, 'c'))?.status).toBe('waiting');
    await expect(decide('approve')).rejects.toThrow('no caller is known here');
    await decide('deny');
    expect(await ended(requestId)).toMatchObject({ error: { type: 'denied' } });
  });
});

async function adjutant(...args: string[]): Promise<{ code: number | null; out: string }> {
  const { code, stdout, stderr } = await runCommand(args, service.url);
  return { code, out: stdout + stderr };
}

describe('`adjutant policy`', () => {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-policy-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const written = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const rulesIn = (name: string, policy: object): string =>
    written(name, JSON.stringify({ mcpServers: { peer: { url: 'http://127.0.0.1:9/mcp' } }, policy }));

  test('records calls with their decisions, and replays them against other rules', async () => {
    const made = [
      await call('peer.echo', { text: 'drop', api_key: 'not-for-files' }),
      await call('peer.echo', { text: 'fine' }),
    ];
    for (const requestId of made) await ended(requestId);
    await eventually(async () =>
      (await client.requests({ limit: 200 })).requests.map((each) => each.request_id),
    ).toEqual(expect.arrayContaining(made));
    const { code, out } = await adjutant('policy', 'record', '--since', '1h');
    expect(code).toBe(0);
    expect(out).not.toContain('not-for-files');
    const lines = out.split('\n').filter((line) => made.some((requestId) => line.includes(requestId)));
    const file = written('calls.jsonl', `${lines.join('\n')}\n`);
    const deny = { name: 'no-word', when: "has(args.text) && args.text == 'drop'", decision: 'deny' };
    const same = rulesIn('same.json', { rules: [deny] });
    expect(await adjutant('policy', 'test', file, '--config', same)).toEqual({
      code: 0,
      out: '2 calls, 0 decided differently\n',
    });
    const other = rulesIn('other.json', {
      rules: [{ name: 'fine', when: "args.text == 'fine'", decision: 'ask' }],
    });
    const replayed = await adjutant('policy', 'test', file, '--config', other);
    expect(replayed.code).toBe(1);
    expect(replayed.out).toMatch(/peer\.echo +deny +allow +default/);
    expect(replayed.out).toMatch(/peer\.echo +allow +ask +fine/);
    const explained = await adjutant('policy', 'explain', `${made[0]}/c`, '--config', same);
    expect(explained.out).toMatch(/recorded +deny +rule no-word/);
    expect(explained.out).toMatch(/read +args\.text +"drop"/);
  });

  test('counts from zero, by the recorded order and day, without what a person denied', async () => {
    const recorded = (id: string, at: string, more: object = {}) =>
      JSON.stringify({
        request_id: 'r',
        id,
        at,
        lane: 'tool.pay',
        decision: 'allow',
        rule: null,
        directive: { type: 'tool_exec', tool_name: 'pay.refund', arguments: { amount: 40 } },
        ...more,
      });
    const lines = [
      recorded('late', '2026-11-02T00:00:01Z'),
      recorded('third', '2026-11-01T12:00:02Z', { decision: 'deny' }),
      recorded('denied', '2026-11-01T11:00:00Z', { decision: 'ask', made: false }),
      recorded('first', '2026-11-01T12:00:00Z'),
      recorded('second', '2026-11-01T12:00:01Z'),
    ];
    const policy = {
      counters: { paid: { of: "tool == 'pay.refund'", sum: 'args.amount' } },
      rules: [
        { name: 'early', when: 'time.getHours() < 12 && time.getDate() == 1', decision: 'ask' },
        { name: 'daily', when: 'true', decision: 'limit', counter: 'paid', at_most: 100 },
      ],
    };
    const file = written('counted.jsonl', lines.join('\n'));
    const config = rulesIn('counted.json', policy);
    expect((await adjutant('policy', 'test', file, '--config', config)).out).toBe(
      '5 calls, 0 decided differently\n',
    );
    const { out } = await adjutant('policy', 'explain', 'r/third', '--file', file, '--config', config);
    expect(out).toMatch(/now +deny +rule daily/);
    expect(out).toMatch(/read +counters\.paid +80/);
    const damaged = written('damaged.jsonl', `${lines[0]}\n{"request_id": 1}\n`);
    const refused = await adjutant('policy', 'test', damaged, '--config', config);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain('damaged.jsonl:2 is no recorded call');
  });
});

/** Rules that decide nothing. */
const idle = { rule: async () => null, ruleSampled: async () => null, settle: async () => {} };

/** A worker may die between the reservation and the record of its decision. */
describe('a reservation', () => {
  const open = shared(() => openStore(redis.url));
  const ask = { decision: 'ask', rule: 'r', reason: null, askMs: 60_000 } as const;
  const use = { name: 'n', scope: 's', daily: true, amount: 7 };

  test('that is repeated counts once and keeps its decision; one that was not made is given back', async () => {
    const counters = createPolicyCounters(open.connection, { policy: `${open.keys.policy}t:` });
    const seen: (number | undefined)[] = [];
    const decide = async (member: string) =>
      counters.decide(member, [use], (values) => {
        seen.push(values.get('n'));
        return ask;
      });
    expect(await decide('q/a')).toEqual(ask);
    expect(await decide('q/a')).toEqual(ask);
    await decide('q/b');
    await counters.settle('q/a', false);
    await counters.settle('q/a', false);
    await counters.settle('q/b', true);
    await decide('q/c');
    expect(seen).toEqual([0, 7, 7]);
  });

  test('that was decided by other values is decided anew', async () => {
    const counters = createPolicyCounters(open.connection, { policy: `${open.keys.policy}u:` });
    const limit = (values: ReadonlyMap<string, number>) =>
      ({ ...ask, decision: (values.get('n') ?? 0) + 7 > 10 ? 'deny' : 'allow' }) as const;
    let other: ReturnType<typeof counters.decide> | undefined;
    // The other call reads the counter before this one has added to it, and decides after it.
    const own = counters.decide('q/a', [use], (values) => {
      other ??= counters.decide('q/b', [use], limit);
      return limit(values);
    });
    expect([(await own).decision, (await other)?.decision]).toEqual(['allow', 'deny']);
  });

  test('that loses every round to other calls is denied, and does not go on for ever', async () => {
    const policy = `${open.keys.policy}v:`;
    const counters = createPolicyCounters(open.connection, { policy });
    let rounds = 0;
    const decided = counters.decide('q/a', [{ ...use, daily: false }], () => {
      // Another call is counted between the reading and the addition.
      void open.connection.set(`${policy}c:n:s:-`, String((rounds += 1)));
      return { ...ask, decision: 'allow' };
    });
    await expect(decided).rejects.toThrow(UncountedCall);
    expect(rounds).toBe(200);
  });

  test('is noted once, with one signal, also when the answer of Redis to the note was lost', async () => {
    await using pipeline = await openPipeline(redis.url);
    const call = await pipeline.accepted({ effect: 'once' });
    expect((await pipeline.journal.claim(claimOf(call, 10_000))).kind).toBe('granted');
    const settings = { rules: [], counters: [], default: 'deny' } as const;
    const { connection, keys, journal } = pipeline;
    const policy = createCallPolicy({
      connection,
      keys,
      journal,
      rulesOf: () => compileRules(settings),
      onError: () => {},
    });
    const claimed = {
      directive: call,
      envelope: { directive: call, lane: LANE },
      lane: LANE,
      claim: { requestId: call.request_id, id: call.id, fence: 1 },
      digest: 'd',
      origin: originOf(call),
      candidate: { index: 0, history: [] },
      now: 0,
    };
    const rulings = [await policy.rule(claimed as never), await policy.rule(claimed as never)];
    expect(rulings.map((ruling) => ruling?.decision)).toEqual(['deny', 'deny']);
    const types = await pipeline.typesOf(call);
    expect(types.filter((type) => type === 'directive.policy_decided')).toHaveLength(1);
  });

  test('of a model that a tool asks counts each request once, also where the answer of Redis was lost', async () => {
    await using pipeline = await openPipeline(redis.url);
    const call = await pipeline.accepted({ effect: 'once' });
    expect((await pipeline.journal.claim(claimOf(call, 10_000))).kind).toBe('granted');
    const counters = [
      { name: 'asked', of: 'models.exists(m, m == "main:a")', sum: null, per: 'request' },
    ] as const;
    const rest = { when: 'true', reason: null, onError: 'deny', askMs: 1_000, approver: 'any' } as const;
    const limit = { counter: 'asked', atMost: 2, exceeded: 'deny' } as const;
    const two = { ...rest, name: 'two', decision: 'limit', limit } as const;
    const known = { ...rest, name: 'known', decision: 'allow', limit: null } as const;
    const rules = compileRules({ rules: [two, known], counters, default: 'allow' });
    const { connection, keys, journal } = pipeline;
    const policy = createCallPolicy({ connection, keys, journal, rulesOf: () => rules, onError: () => {} });
    const asked = async (number: number, fence = 1) => {
      const claim = { requestId: call.request_id, id: call.id, fence };
      const claimed = { directive: call, envelope: { directive: call, lane: LANE }, lane: LANE, claim };
      const facts = { digest: 'd', origin: originOf(call), candidate: { index: 0, history: [] }, now: 0 };
      const models = { models: ['main:a'], number, isCheaper: false };
      return (await policy.ruleSampled({ ...claimed, ...facts } as never, models))?.decision;
    };
    const counted = async () => {
      const [name = ''] = await connection.keys(`${keys.policy}c:*`);
      return Number(await connection.get(name));
    };
    const seen = [await asked(1), await asked(1), await counted(), await asked(2), await counted()];
    expect(seen).toEqual(['allow', 'allow', 1, 'allow', 2]);
    expect([await asked(3), await counted(), await asked(4, 9)]).toEqual(['deny', 2, undefined]);
    const types = await pipeline.typesOf(call);
    expect(types.filter((type) => type === 'directive.policy_decided')).toHaveLength(3);
  });

  // A directive that is paused, or waits for a person, for longer than its reservation is kept.
  test('counts once however late its next claim is, and its counters go with its request and no earlier', async () => {
    await using pipeline = await openPipeline(redis.url);
    const call = await pipeline.accepted({ effect: 'once' });
    expect((await pipeline.journal.claim(claimOf(call, 10_000))).kind).toBe('granted');
    const counter = { name: 'calls', of: 'true', sum: null, per: 'request' } as const;
    const rules = compileRules({ rules: [], counters: [counter], default: 'allow' });
    const { connection, keys, journal } = pipeline;
    const opened = () =>
      createCallPolicy({ connection, keys, journal, rulesOf: () => rules, onError: () => {} });
    const policy = opened();
    const claimed = (fence: number) => ({
      directive: call,
      envelope: { directive: call, lane: LANE },
      lane: LANE,
      claim: { requestId: call.request_id, id: call.id, fence },
      digest: 'd',
      origin: originOf(call),
      candidate: { index: 0, history: [] },
      now: 0,
    });
    expect((await policy.rule(claimed(1) as never))?.decision).toBe('allow');
    await connection.unlink(...(await connection.keys(`${keys.policy}r:*`)));
    expect((await policy.rule(claimed(2) as never))?.decision).toBe('allow');
    const [name = ''] = await connection.keys(`${keys.policy}c:*`);
    expect(await connection.get(name)).toBe('1.000000');
    const requests = `${keys.policy}requests`;
    const looked = async (at: number) => {
      await connection.zadd(requests, 'XX', 1, call.request_id);
      const { sweeping } = opened();
      await sweeping.start();
      const next = async () => Number((await connection.zscore(requests, call.request_id)) ?? Infinity);
      await eventually(next).toBeGreaterThanOrEqual(at);
      await sweeping.stop();
    };
    await looked(Date.now());
    expect(await connection.get(name)).toBe('1.000000');
    await connection.unlink(keys.request(call.request_id)[0]);
    await looked(Infinity);
    expect(await connection.exists(name, requests)).toBe(0);
  });

  // A worker that stood still between its claim and its decision must not send what the rules may deny.
  test('under a claim that was taken over makes no call', async () => {
    await using pipeline = await openPipeline(redis.url);
    const { execute, ran } = inTurn(done);
    const call = await pipeline.accepted({ effect: 'once' });
    const policy = { ...idle, rule: async () => null };
    await pipeline.attempt({ ...pipeline.attemptParts(execute), policy }, call);
    expect([ran, (await pipeline.recordOf(call))?.status]).toEqual([[], 'running']);
  });

  test('that asks a person asks also after its caller has logged in, and not again at the login after the approval', async () => {
    await using pipeline = await openPipeline(redis.url);
    const { execute, ran } = inTurn(done);
    const question = { mode: 'url', message: 'log in', url: 'https://login.example/' };
    const missing = { kind: 'missing', question, patienceMs: 60_000 };
    const states = [missing, missing, { kind: 'none' }];
    const logins = { accountOf: () => null, forget: async () => {}, stateOf: async () => states.shift() };
    const rulings = ['allow', 'ask'] as const;
    let decided = 0;
    const rule = async () => ({ ...ask, decision: rulings[decided++] ?? 'ask' });
    const parts = { ...pipeline.attemptParts(execute), policy: { ...idle, rule }, logins };
    const call = await pipeline.accepted({ effect: 'once' });
    const asked: (string | undefined)[] = [];
    for (let round = 1; round <= 3; round += 1) {
      await pipeline.attempt(parts as never, call);
      asked.push((await pipeline.journal.questions.round(call.request_id, call.id))?.endpoint);
      await pipeline.client.answer(call.request_id, inputIdOf(call.id, round), { action: 'accept' });
    }
    expect(asked).toEqual(['@login', '', '@login']);
    await pipeline.attempt(parts as never, call);
    expect([ran.length, (await pipeline.recordOf(call))?.status]).toEqual([1, 'succeeded']);
  });

  test('is not needed to ask for the end of a call that was made, which stays unknown without the login of its caller', async () => {
    await using pipeline = await openPipeline(redis.url);
    const made = { ...fails('network'), ambiguous: true, resumable: true };
    const parts = pipeline.attemptParts(async (_call, { tasks }) => {
      if (tasks?.task !== null) return done;
      await tasks.keep('its task');
      return made;
    });
    const rulings = ['allow', 'deny'] as const;
    let decided = 0;
    const rule = async () => ({ ...ask, decision: rulings[decided++] ?? 'deny' });
    const states = [
      { kind: 'none' },
      { kind: 'none' },
      { kind: 'none' },
      { kind: 'refused', reason: 'none' },
    ];
    const logins = { accountOf: () => null, forget: async () => {}, stateOf: async () => states.shift() };
    const policy = { ...idle, rule };
    const ends: unknown[] = [];
    for (const id of ['found', 'unknown']) {
      const call = await pipeline.accepted({ id, effect: 'once' });
      decided = 0;
      for (let at = 0; at < 2; at += 1) await pipeline.attempt({ ...parts, policy, logins } as never, call);
      ends.push((await pipeline.resultOf(call))?.data);
    }
    expect(ends).toMatchObject([
      { result: { ok: true } },
      { result: { ok: false, error: { type: 'auth', details: { outcome: 'unknown' } } } },
    ]);
  });
});

test.each([
  ['its reservation', 1, 'idempotent'],
  ['the record of its decision', 2, 'once'],
] as const)(
  'a call whose worker is killed after %s counts once, and is made once at most',
  async (_after, at, tool) => {
    const RULED = `tool == 'counting.${tool}'`;
    const folder = await mkdtemp(join(tmpdir(), 'adjutant-policy-'));
    const file = join(folder, 'counter.jsonl');
    await writeFile(file, '');
    const prefix = `killed-${randomUUID()}`;
    const config = {
      worker: { lease_ms: 1_000, drain_ms: 0 },
      mcpServers: { counting: ownServerEntry('counting.ts', { COUNTER_FILE: file }) },
      policy: {
        counters: { made: { of: RULED } },
        rules: [
          { name: 'two', when: RULED, decision: 'limit', counter: 'made', at_most: 2 },
          { name: 'known', when: RULED, decision: 'allow' },
        ],
      },
    };
    await using api = await startService({ redisUrl: redis.url, prefix, roles: { api: true }, config });
    const doomed = spawnNode([DOOMED, JSON.stringify({ redisUrl: redis.url, prefix, at, config })]);
    await untilListed(api.url, `counting.${tool}`);
    const http = createHttpClient({ baseUrl: api.url });
    const made = async (label: string) => {
      const call = { type: 'tool_exec', tool_name: `counting.${tool}`, id: label, request_id: prefix };
      await http.submit({ ...call, arguments: { label } } as never);
      return async () =>
        (await http.result(prefix, label))?.data as { result: { ok: boolean; error?: { type: string } } };
    };
    const first = await made('first');
    expect((await doomed.exited).signal).toBe('SIGKILL');
    await using _worker = await startService({
      redisUrl: redis.url,
      prefix,
      roles: { worker: true },
      config,
    });
    const { result } = await first();
    expect(result.error?.type ?? 'made').toBe(tool === 'once' ? 'outcome_unknown' : 'made');
    expect((await (await made('second'))()).result.ok).toBe(true);
    expect((await (await made('third'))()).result.error?.type).toBe('policy_denied');
    const labels = (await readFile(file, 'utf8')).match(/"label":"\w+"/g);
    expect(labels).toEqual([...(tool === 'once' ? [] : ['"label":"first"']), '"label":"second"']);
    await http.close();
    await rm(folder, { recursive: true, force: true });
  },
);
