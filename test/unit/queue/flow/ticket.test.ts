/** What a directive enters the gate of its lane with.
 *  It must never need Redis. */
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../../src/config/config.ts';
import { flowSettings } from '../../../../src/config/flow.ts';
import { type Directive, parseSubmission } from '../../../../src/contract/directive/directive.ts';
import { type FlowSettings, NO_FLOW } from '../../../../src/contract/directive/flow.ts';
import { scopedId } from '../../../../src/contract/access/tenant.ts';
import { ticketIn, ticketOf, ticketsOf } from '../../../../src/queue/flow/ticket.ts';
import { contentDigest } from '../../../../src/store/request/content-digest.ts';

const environment = { REDIS_URL: 'redis://127.0.0.1:1' };

function settings(flow: object): FlowSettings {
  return flowSettings(parseConfig({ flow }, { source: 'test', directory: '/', environment }).flow);
}

function rules(of: object): FlowSettings {
  return settings({ rules: of });
}

function call(fields: object = {}): Directive {
  const body = { type: 'tool_exec', tool_name: 'update', id: 'a', request_id: 'r', ...fields };
  const parsed = parseSubmission(body);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.directives[0] as Directive;
}

function ticket(fields: object, flow: FlowSettings = NO_FLOW, tenant = 'default', lane = 'tool.crm') {
  return ticketOf(call(fields), tenant, flow, lane);
}

const named = (key: string, tenant = 'default') =>
  ticket({ concurrency: { key, limit: 2 } }, NO_FLOW, tenant)?.limits[0]?.name;

/** Names that mean something to a prototype, a Redis key, a pattern, a terminal. */
const STRANGE = [
  '__proto__',
  'constructor',
  'toString',
  'a\0b',
  'a}b{',
  '*',
  '|',
  '~',
  ' ',
  '\u001B[2J',
  '\uD800',
];

describe('what a caller asks for', () => {
  test('nothing asked for, in a lane without turns: no ticket', () => {
    expect(ticket({})).toBeNull();
    expect(ticket({}, rules({ other: { match: { lane: 'llm.*' }, priority: 1 } }))).toBeNull();
  });

  test('the absence of the fields leaves the digest of the content as it was', () => {
    expect(contentDigest(call({}))).toBe(contentDigest(call({ priority: undefined })));
    expect(contentDigest(call({ priority: 4 }))).not.toBe(contentDigest(call({})));
  });

  test('each field makes a ticket', () => {
    expect(ticket({ priority: 9 })).toEqual({ turn: 'default', weight: 1, priority: 9, limits: [] });
    expect(ticket({ fairness_key: 'k' })).toMatchObject({ priority: 4, limits: [] });
    expect(ticket({ rate: { key: 'k', max: 3, per_ms: 1_000 } })?.limits).toEqual([
      { name: expect.stringMatching(/^[\w-]{22}$/), label: 'k', rate: { max: 3, per_ms: 1_000 } },
    ]);
  });

  test.each(STRANGE)('a key %j is data: it names one limit and one turn, in plain characters', (key) => {
    const made = ticket({ fairness_key: key, concurrency: { key, limit: 2 } });
    expect(made?.turn).toMatch(/^default~[\w-]{22}$/);
    expect(made?.limits[0]?.name).toMatch(/^[\w-]{22}$/);
    expect(made?.limits[0]?.label).not.toMatch(/\p{Cc}|\p{Cs}/u);
  });

  test('different keys have different names; the longest ones too', () => {
    const keys = [...STRANGE, 'k'.repeat(256), `${'k'.repeat(255)}l`];
    expect(new Set(keys.map((key) => named(key))).size).toBe(keys.length);
    expect(() => call({ concurrency: { key: 'k'.repeat(257), limit: 1 } })).toThrow('256');
    expect(ticket({ concurrency: { key: 'k'.repeat(256), limit: 1 } })?.limits[0]?.label.length).toBe(120);
  });

  test('the same key of another tenant, another kind, a rule: other limits', () => {
    const flow = rules({ key: { concurrency: { by: 'arguments.account', limit: 1 } } });
    const both = ticket(
      {
        arguments: { account: 'key' },
        concurrency: { key: 'key', limit: 1 },
        rate: { key: 'key', max: 1, per_ms: 9 },
      },
      flow,
    );
    const names = [...(both?.limits ?? []).map(({ name }) => name), named('key', 'acme')];
    expect(new Set(names).size).toBe(4);
    expect(ticket({ fairness_key: 'key' }, NO_FLOW, 'acme')?.turn).toMatch(/^acme~/);
  });

  test('a custom type has no such fields: they are its own', () => {
    const own = {
      type: 'weigh',
      id: 'a',
      request_id: 'r',
      metadata: {},
      priority: 9,
    } as unknown as Directive;
    expect(ticketOf(own, 'default', NO_FLOW, 'custom.weigh')).toBeNull();
  });
});

describe('rules of the configuration', () => {
  const perAccount = rules({ 'per-account': { concurrency: { by: 'arguments.account', limit: 2 } } });
  const limitsFor = (given: unknown, flow = perAccount) =>
    ticket({ arguments: given as object }, flow)?.limits;

  test('hold beside what the caller asks for, and are never loosened by it', () => {
    const made = ticket(
      { arguments: { account: 42 }, priority: 9, concurrency: { key: '42', limit: 10_000 } },
      rules({
        'per-account': { concurrency: { by: 'arguments.account', limit: 2 } },
        calm: { priority: 2 },
        calmer: { priority: 1 },
      }),
    );
    expect(made).toMatchObject({ priority: 1, fixed_by: 'calmer' });
    expect(made?.limits).toMatchObject([
      { label: 'rule per-account: 42', concurrency: 2, shared: true },
      { label: '42', concurrency: 10_000 },
    ]);
  });

  test('42 and "42" are one key; where nothing is there, the rule is not about it', () => {
    expect(limitsFor({ account: 42 })).toEqual(limitsFor({ account: '42' }));
    for (const given of [{}, { account: undefined }]) expect(limitsFor(given)).toBeUndefined();
  });

  test('what cannot be read escapes no rule: all of it shares one limit, which no value in clear has', () => {
    const encoded = (key_id: string) => ({
      codec: 'aes-256-gcm',
      key_id,
      data: 'AAAA',
      digest: 'A'.repeat(22),
    });
    const [one, two] = ['a', 'b'].map((key_id) => limitsFor({ $encrypted: encoded(key_id) }));
    expect(one).toMatchObject([{ label: 'rule per-account: (not readable)', concurrency: 2 }]);
    for (const account of [{}, ['42'], null]) expect(limitsFor({ account })).toEqual(one);
    expect(two).toEqual(one);
    for (const account of ['null', '(not readable)', 'undefined'])
      expect(limitsFor({ account })?.[0]?.name).not.toBe(one?.[0]?.name);
  });

  test('what cannot be read is still told apart by tenant', () => {
    const flow = rules({ r: { concurrency: { by: ['tenant', 'arguments.account'], limit: 2 } } });
    const of = (tenant: string) => ticket({ arguments: { account: [] } }, flow, tenant)?.limits[0]?.name;
    expect(of('acme')).not.toBe(of('bolt'));
  });

  test.each(['constructor', 'toString'])('%s is a member only where the arguments have it', (name) => {
    const flow = rules({ r: { concurrency: { by: `arguments.${name}.name`, limit: 1 } } });
    expect(limitsFor({}, flow)).toBeUndefined();
    const given = JSON.parse(`{"${name}":{"name":"x"}}`) as object;
    expect(limitsFor(given, flow)?.[0]?.label).toBe('rule r: x');
  });

  test('several paths are told apart, whatever their values hold', () => {
    const flow = rules({ r: { concurrency: { by: ['arguments.a', 'arguments.b'], limit: 1 } } });
    const name = (a: string, b: string) => limitsFor({ a, b }, flow)?.[0]?.name;
    expect(name('x', 'y,z')).not.toBe(name('x,y', 'z'));
  });

  test('by tenant, each has a limit of its own, which only it sees', () => {
    const flow = rules({ r: { concurrency: { by: 'tenant', limit: 1 } } });
    const [left, right] = ['acme', 'bolt'].map((tenant) => ticket({}, flow, tenant)?.limits[0]);
    expect(left?.name).not.toBe(right?.name);
    expect(left).not.toHaveProperty('shared');
  });

  test('a value under the name of a secret is not shown', () => {
    const flow = rules({ r: { concurrency: { by: 'arguments.api_key', limit: 1 } } });
    expect(limitsFor({ api_key: 'hush' }, flow)?.[0]?.label).toBe('rule r: [REDACTED]');
  });

  test.each([
    [{ tenant: 'acme' }, false],
    [{ tenant: 'default' }, true],
    [{ type: 'llm_generate' }, false],
    [{ lane: 'tool.*' }, true],
    [{ lane: 'tool.mail' }, false],
    [{ tool: 'update' }, true],
    [{ tool: 'crm.up*' }, true],
    [{ tool: 'mail.*' }, false],
    [{ tag: 'night' }, true],
    [{ tag: 'day' }, false],
  ])('a rule for %j: %s', (match, isFit) => {
    const flow = rules({ r: { match, priority: 0 } });
    for (const tool_name of ['update', 'crm.update'])
      expect(ticket({ tool_name, metadata: { tags: ['night'] } }, flow) !== null).toBe(isFit);
  });

  test('a lane that takes turns gives each a ticket, with the weight of its tenant', () => {
    const flow = settings({ lanes: ['tool.c*'], weights: { acme: 3 } });
    expect(ticket({}, flow, 'acme')).toEqual({ turn: 'acme', weight: 3, priority: 4, limits: [] });
    expect(ticket({}, flow, 'bolt', 'tool.mail')).toBeNull();
  });
});

test('each lane that may answer has its own ticket, where its rules differ', () => {
  const ask = {
    ...call(),
    type: 'llm_generate',
    request_id: scopedId('acme', 'r'),
  } as unknown as Directive;
  const flow = rules({ slow: { match: { lane: 'llm.b' }, concurrency: { limit: 1 } } });
  const kept = ticketsOf(ask, { settings: flow, lane: 'llm.a', models: ['a:m', 'b:m', 'c:m'] });
  expect(Object.keys(kept.tickets ?? {})).toEqual(['llm.b']);
  expect([ticketIn(kept, 'llm.a'), ticketIn(kept, 'llm.c')]).toEqual([null, null]);
  expect(ticketIn(kept, 'llm.b')).toMatchObject({ turn: 'acme', limits: [{ concurrency: 1 }] });
});

describe('faults of the configuration', () => {
  test.each([
    [{ rules: { r: {} } }, 'concurrency, rate or priority is required'],
    [{ rules: { r: { concurrency: { by: 'argument.account', limit: 1 } } } }, 'begins with no field'],
    [{ lanes: ['run'] }, 'must be a lane'],
    [{ weights: { acme: 0 } }, 'must be at least 1'],
    [
      { rules: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`r${i}`, { priority: 1 }])) },
      'at most 32',
    ],
    [
      {
        rules: Object.fromEntries(
          Array.from({ length: 7 }, (_, i) => [`r${i}`, { concurrency: { limit: 1 } }]),
        ),
      },
      'with 7 limits together',
    ],
  ])('%j is refused', (flow, message) => {
    expect(() => settings(flow)).toThrow(message);
  });

  test('rules of lanes that differ never meet', () => {
    const of = Object.fromEntries(
      Array.from({ length: 9 }, (_, i) => [
        `r${i}`,
        { match: { lane: `tool.s${i}` }, concurrency: { limit: 1 } },
      ]),
    );
    expect(rules(of).rules).toHaveLength(9);
  });
});
