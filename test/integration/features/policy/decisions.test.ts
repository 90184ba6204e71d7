/** Rules of an operator about calls, through the whole service.
 *  It stands for point 4 of issue 38: each decision, counters under concurrency, rules that fail, names that attack. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/client/http-client.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';
import { openStore } from '../../../support/store.ts';
import { parseConfig } from '../../../../src/config/config.ts';
import { createPolicyCounters } from '../../../../src/features/policy/counters.ts';

const redis = useRedis();
const service = shared(async () => {
  const started = await startService({
    redisUrl: redis.url,
    config: {
      mcpServers: { peer: ownServerEntry('legacy-peer.ts') },
      policy: {
        counters: {
          added: { of: 'tool == "peer.add"', sum: 'args.a' },
          secrets: { of: 'tool == "peer.echo" && args.text == "secret"', per: 'request' },
        },
        rules: [
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
          { name: 'sum', when: 'tool == "peer.add"', decision: 'limit', counter: 'added', at_most: 50 },
          {
            name: 'broken',
            when: 'tool == "peer.echo" && args.text == "late" && args.nothing.there == 1',
            decision: 'allow',
          },
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
  });

  // An expression of this form took 8 s of the event loop over arguments of 250,000 characters.
  test('close where a loop would read large arguments again and again', async () => {
    const items = Array.from({ length: 300 }, () => 'y');
    const large = await call('peer.echo', { text: 'x'.repeat(10_000), items });
    expect((await ended(large))?.error?.type).toBe('policy_denied');
    expect(await decisions(large)).toMatchObject([{ rule: 'loop', failed: 'Unknown variable: args' }]);
    const small = await call('peer.echo', { text: 'x', items });
    await ended(small);
    expect(await decisions(small)).toEqual([]);
  });
});

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
});

describe('the configuration', () => {
  const messageOf = (when: string): string => {
    const policy = { rules: [{ name: 'r', when, decision: 'deny' }] };
    try {
      parseConfig({ policy }, { source: 'adjutant.json', directory: '.', environment: {} });
    } catch (error) {
      return String(error);
    }
    return '';
  };

  test.each([
    ['tool ==', 'is no expression'],
    ['tool == 5', 'is no expression'],
    ['nothing == 1', 'is no expression'],
    ['args.text.matches("(a+)+$")', 'calls matches()'],
    ['args.a.all(x, args.b.all(y, x == y))', 'within another loop'],
    ['counters.unknown > 1', 'reads the counter "unknown"'],
    ['tool', 'gives a string'],
  ])('refuses the start with the place of `%s`', (when, why) => {
    expect(messageOf(when)).toContain(why);
    expect(messageOf(when)).toContain('policy.rules[0].when');
  });
});
