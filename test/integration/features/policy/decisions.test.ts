/** Rules of an operator about calls, through the whole service.
 *  Point 4 of issue 38: each decision, each way in, counters under concurrency and kill -9, rules that fail, names that attack. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/client/http-client.ts';
import { type RecordedCall, replayCalls } from '../../../../src/features/policy/replay.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import { runCommand } from '../../../support/command.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { openHost } from '../../../support/mcp-clients.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { json, startProvider } from '../../../support/provider-server.ts';
import { startProducer } from '../../../support/queue-producer.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

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
            when: 'has(args.items) && args.items.exists(x, args.text.like(x))',
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
    expect((await waiting())[0]?.message).toContain('The rule "person" asks: Careful. Arguments:');
    await client.runs.decide(requestId, 'c', { decision: 'approve' });
    expect(await ended(requestId)).toMatchObject({ ok: true });
    expect(await decisions(requestId)).toMatchObject([
      { decision: 'ask', rule: 'person', reason: 'Careful.' },
    ]);
  });

  test('that want another approver than the submitter take no approval where callers have no keys', async () => {
    const requestId = await call('peer.echo', { text: 'other' });
    const decide = async (decision: 'approve' | 'deny') => client.runs.decide(requestId, 'c', { decision });
    await eventually(async () => (await client.directive(requestId, 'c'))?.status).toBe('waiting');
    await expect(decide('approve')).rejects.toThrow('no caller is known here');
    await decide('deny');
    expect(await ended(requestId)).toMatchObject({ error: { type: 'denied' } });
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
    const large = await call('peer.echo', { text: 'x'.repeat(30_000), items });
    expect((await ended(large))?.error?.type).toBe('policy_denied');
    expect(await decisions(large)).toMatchObject([
      { rule: 'loop', failed: expect.stringContaining('too large for the rules') as string },
    ]);
    const small = await call('peer.echo', { text: 'x', items });
    await ended(small);
    expect(await decisions(small)).toEqual([]);
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
      recorded('third', '2026-11-01T12:00:02Z', { decision: 'deny', rule: '\u001B[2J\u009B' }),
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
    // A file may come from others.
    expect(out).not.toMatch(/(?!\n)\p{Cc}/u);
    expect(out).toMatch(/now +deny +rule daily/);
    expect(out).toMatch(/read +counters\.paid +80/);
    const damaged = written('damaged.jsonl', `${lines[0]}\n{"request_id": 1}\n`);
    const refused = await adjutant('policy', 'test', damaged, '--config', config);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain('damaged.jsonl:2 is no recorded call');
  });

  // Rules of a tenant may be slow: Ctrl-C has to be seen between two decisions.
  test('ends at an interrupt before all calls are decided', async () => {
    const of = (count: number): RecordedCall => ({
      request_id: 'r',
      id: `c${count}`,
      at: '2026-11-01T12:00:00Z',
      lane: 'tool.pay',
      decision: 'allow',
      rule: null,
      tenant: 'default',
      caller: '',
      agent: '',
      made: true,
      directive: { type: 'tool_exec', tool_name: 'pay.refund', arguments: {} },
    });
    const calls = Array.from({ length: 2_000 }, (_, count) => of(count));
    const operators = { rules: [], counters: [], default: 'allow' } as const;
    const interrupt = new AbortController();
    const replayed = replayCalls(
      calls,
      { operators, tenants: new Map(), aliases: new Map() },
      interrupt.signal,
    );
    setImmediate(() => interrupt.abort(new Error('interrupted')));
    await expect(replayed).rejects.toThrow('interrupted');
  });
});
