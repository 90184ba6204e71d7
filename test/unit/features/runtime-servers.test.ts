/** Definitions of servers that tenants add: what an operator has not allowed is refused, and no message or view has a secret.
 *  Issue 38, point 7: attacks by an administrator of a tenant. */
import { expect, test } from 'vitest';
import { tenantPolicy } from '../../../src/config/policy.ts';
import { runtimeServerRules } from '../../../src/config/runtime-servers.ts';
import {
  holdsLiterals,
  readDefinition,
  shownDefinition,
} from '../../../src/features/runtime-servers/definition.ts';
import { createRulesOfTenants } from '../../../src/features/runtime-definitions/tenant-policies.ts';
import { fileSchema } from '../../../src/config/file-schema.ts';
import { joinRules } from '../../../src/features/policy/joined-rules.ts';
import { compileRules } from '../../../src/features/policy/rules.ts';
import { isSameCaller } from '../../../src/store/request/envelope.ts';
import { untilHolds } from '../../support/eventually.ts';

const ENVIRONMENT = {
  CRM_TOKEN: 'value-of-the-token',
  BROKEN: 'two\nlines',
  REDIS_URL: 'redis://:password@redis',
};

function rulesOf(section: object) {
  const sections = fileSchema.parse({ runtime_servers: { enabled: true, ...section } });
  const rules = runtimeServerRules(sections.runtime_servers, ENVIRONMENT);
  if (rules === null) throw new Error('the section is off');
  return rules;
}

const CALL = {
  kind: 'tool_exec',
  server: 'a',
  models: [],
  tenant: 'acme',
  caller: 'k',
  agent: '',
  request: 'r',
  at: 0,
} as const;

const RULES = rulesOf({
  hosts: ['*.example.com', '127.0.0.1'],
  environment: { CRM_TOKEN: { tenants: ['acme'], hosts: ['crm.example.com'] }, BROKEN: {}, UNSET: {} },
});

const url = 'https://crm.example.com/mcp';

function faultsOf(definition: Record<string, unknown>, tenant = 'acme'): string {
  const read = readDefinition(definition, tenant, RULES);
  return read.ok ? '' : JSON.stringify(read.errors);
}

test.each([
  ['a host that is not allowed', { url: 'https://evil.com/.example.com' }, 'runtime_servers.hosts'],
  ['a private address', { url: 'http://127.0.0.1/mcp' }, 'runtime_servers.private_addresses'],
  ['a user in the URL', { url: 'https://me:secret@crm.example.com' }, 'must not name a user'],
  ['a file of the worker', { openapi: '/etc/passwd' }, 'must be a URL'],
  ['a base URL elsewhere', { openapi: url, base_url: 'https://evil.com' }, 'runtime_servers.hosts'],
  ['a program', { command: 'sh', args: ['-c', 'id'] }, 'runtime_servers.kinds'],
  ['two transports', { url, command: 'sh' }, 'one of url'],
  ['a variable of the process', { url, headers: { A: '${REDIS_URL}' } }, 'variable REDIS_URL'],
  [
    'a variable for another host',
    { url: 'https://b.example.com', headers: { A: '${CRM_TOKEN}' } },
    'CRM_TOKEN',
  ],
  ['a variable that is not set', { url, bearer_token: '${UNSET}' }, 'UNSET, which is not set'],
  ['a default of a variable', { url, bearer_token: '${UNSET:-x}' }, 'not ${NAME}'],
  ['a variable in the URL', { url: `${url}?key=\${CRM_TOKEN}` }, 'only headers'],
  ['a new line in a header', { url, headers: { A: 'b\r\nHost: evil' } }, 'no header may have'],
  ['a new line in a variable', { url, headers: { A: '${BROKEN}' } }, 'no header may have'],
  ['a name that is no header', { url, headers: { 'A b': 'c' } }, 'no header may have'],
  ['trust in its control directives', { url, directives: 'all' }, 'operator sets it'],
  ['models for its tools', { url, sampling: { model: 'm:m' } }, 'operator sets it'],
  ['private addresses', { openapi: url, private_addresses: true }, 'operator sets it'],
  ['more calls at once', { url, lane: { concurrency: 1_000 } }, 'operator sets it'],
  ['a redacted value', { url, bearer_token: '[REDACTED]' }, 'is redacted'],
  ['a redacted query', { url: `${url}?key=%5BREDACTED%5D` }, 'is redacted'],
  ['too many bytes', { url, headers: { A: 'b'.repeat(20_000) } }, '16384 bytes'],
])('%s is refused', (_name, definition, message) => {
  const faults = faultsOf(definition);
  expect(faults).toContain(message);
  expect(faults).not.toMatch(/value-of-the-token|password|two/);
});

test('a variable is for the tenants that the operator names', () => {
  const definition = { url, headers: { Authorization: 'Bearer ${CRM_TOKEN}' } };
  expect(faultsOf(definition, 'globex')).toContain('CRM_TOKEN');
  const read = readDefinition(definition, 'acme', RULES);
  expect(read).toMatchObject({
    ok: true,
    config: { headers: { Authorization: 'Bearer value-of-the-token' } },
  });
});

test('literals count as secrets, references do not', () => {
  const literal = {
    url: `${url}?key=abc&abc`,
    headers: { A: 'abc', B: 'Bearer ${CRM_TOKEN}' },
    bearer_token: 'abc',
  };
  expect(holdsLiterals(literal)).toBe(true);
  expect(JSON.stringify(shownDefinition(literal))).not.toContain('abc');
  expect(JSON.stringify(shownDefinition(literal))).toContain('Bearer ${CRM_TOKEN}');
  expect(holdsLiterals({ url, headers: { B: 'Bearer ${CRM_TOKEN}' } })).toBe(false);
  // Programs take secrets as arguments, too.
  const program = { command: 'crm', args: ['--token', 'abc', '--key=abc', '${CRM_TOKEN}'] };
  expect(holdsLiterals(program)).toBe(true);
  expect(shownDefinition(program)['args']).toEqual(['--token', '[REDACTED]', '[REDACTED]', '${CRM_TOKEN}']);
  expect(holdsLiterals({ command: 'crm', args: ['--token', '${CRM_TOKEN}'] })).toBe(false);
});

/** Point 7 of issue 38: a worker decides by no rules that it has read more than a second ago, and by none that it cannot read. */
test('the rules of a tenant are at most a second old, and what cannot be read denies', async () => {
  const deny = (word: string) => ({
    rules: [{ name: word, when: `args.text == "${word}"`, decision: 'deny' }],
  });
  const stored = (version: string, definition: Record<string, unknown> | null) => ({
    version,
    definition,
    at: 0,
    by: null,
    isSealed: false,
  });
  let [revision, now, isAway] = ['1', 0, false];
  let policies = new Map([['words', stored('1', deny('first'))]]);
  const rulesOf = createRulesOfTenants(
    {
      revision: async () => {
        if (isAway) throw new Error('Redis does not answer');
        return revision;
      },
      all: async () => policies,
    },
    { rules: [], counters: [], default: 'allow' },
    () => now,
  );
  const decided = async (text: string): Promise<string> => {
    const rules = await rulesOf('acme');
    const facts = { tenant: 'acme', caller: '', agent: '', models: [], at: 0, kind: 'tool_exec' };
    const call = { ...facts, tool: 'a.b', server: 'a', args: { text }, request: 'r' };
    const ruled = rules.rule(call, [], null);
    return ruled.kind === 'ruled' ? `${ruled.ruling.decision} ${ruled.ruling.rule}` : ruled.kind;
  };
  expect(await decided('first')).toBe('deny words/first');
  [revision, policies] = ['2', new Map([['words', stored('2', deny('second'))]])];
  now = 999;
  expect(await decided('first')).toBe('deny words/first');
  now = 1_000;
  expect([await decided('first'), await decided('second')]).toEqual(['allow null', 'deny words/second']);
  [revision, policies] = ['3', new Map([['words', stored('3', null)]])];
  now = 2_000;
  expect(await decided('any')).toBe('deny words/unreadable');
  [now, isAway] = [3_000, true];
  await expect(decided('any')).rejects.toThrow('Redis does not answer');
});

/** After a change each call that arrives would else read and compile the policies of its tenant. */
test('calls at once read the rules of their tenant once, and a call decides by none that a joined reading read long before', async () => {
  let [now, read, revision] = [0, 0, 0];
  const gates: (() => void)[] = [];
  const rulesOf = createRulesOfTenants(
    {
      revision: async () => String(++revision),
      all: async () => {
        read += 1;
        await new Promise<void>((resolve) => gates.push(resolve));
        return new Map();
      },
    },
    { rules: [], counters: [], default: 'allow' },
    () => now,
  );
  const open = async (): Promise<void> => {
    await untilHolds(() => expect(gates).not.toEqual([]));
    for (const each of gates.splice(0)) each();
  };
  const calls = Array.from({ length: 100 }, async () => rulesOf('acme'));
  await open();
  await Promise.all(calls);
  expect(read).toBe(1);

  const other = rulesOf('globex');
  await untilHolds(() => expect(gates).toHaveLength(1));
  now = 999;
  const late = rulesOf('globex');
  now = 1_000;
  await open();
  await other;
  expect(read).toBe(2);
  await open();
  await late;
  expect(read).toBe(3);
});

test('a rule of a tenant holds its call for an hour at most, which is its default', () => {
  const policy = tenantPolicy({ rules: [{ name: 'a', when: 'true', decision: 'ask' }] });
  expect(policy).toMatchObject({ ok: true, settings: { rules: [{ askMs: 3_600_000 }] } });
});

/**
 * Issue 38, point 4: a decision blocks the event loop of all tenants. Five policies of the largest size took 9.9 s over a text of 64 KB, and
 * 0.2 s over a model call with 16 models.
 */
test.each([
  ['operators', Array.from({ length: 70 }, () => "kind == 'x'").join(' || ')],
  ['rounds of a loop', `[${'1, '.repeat(100)}1].exists(i, tool == 'x' || kind == 'x')`],
  ['rounds over the models', "models.exists(m, m == 'a' || m == 'b' || m == 'c' || m == 'd' || m == 'e')"],
])('a policy of a tenant with too many %s is refused', (_what, when) => {
  expect(tenantPolicy({ rules: [{ name: 'a', when, decision: 'deny' }] })).toMatchObject({
    ok: false,
    errors: [{ message: expect.stringContaining('operators and calls') as string }],
  });
});

/** 64 rules of an operator took 3 s over arguments of the largest size, and a search for a pattern of the arguments a second. */
test.each([
  ['often', 'size(args.text) == 1', { text: 'z'.repeat(200_000) }],
  [
    'in loops',
    'args.list.exists(x, size(args.text) == 1)',
    { list: Array(100).fill('x'), text: 'z'.repeat(19_000) },
  ],
  ['with a long pattern', 'args.text.like(args.list)', { text: 'zz', list: 'z'.repeat(129) }],
])('rules of an operator that would read large arguments %s fail instead', (_how, when, args) => {
  const rest = {
    when,
    decision: 'ask',
    reason: null,
    limit: null,
    onError: 'deny',
    approver: 'any',
  } as const;
  const rules = (count: number) =>
    compileRules({
      rules: Array.from({ length: count }, (_, at) => ({ ...rest, name: `r${at}`, askMs: 1_000 })),
      counters: [],
      default: 'allow',
    }).rule({ ...CALL, tool: 'a.b', args }, [], null);
  expect(rules(64)).toMatchObject({ ruling: { decision: 'deny', rule: 'r0' } });
});

test('a rule that wants another approver is stricter than one that asks anyone, whichever is first', () => {
  const asking = (name: string, approver: 'any' | 'other') => {
    const rest = { when: 'true', decision: 'ask', reason: null, limit: null, onError: 'deny' } as const;
    return compileRules({
      rules: [{ ...rest, name, approver, askMs: 1_000 }],
      counters: [],
      default: 'allow',
    });
  };
  const decided = (operators: 'any' | 'other', tenants: 'any' | 'other') =>
    joinRules(asking('o', operators), [{ tenant: 'acme', name: 'p', rules: asking('t', tenants) }]).rule(
      { ...CALL, tool: 'a.b', args: {} },
      [],
      null,
    );
  expect(decided('any', 'other')).toMatchObject({ ruling: { rule: 'p/t', approver: 'other' } });
  expect(decided('other', 'any')).toMatchObject({ ruling: { rule: 'o', approver: 'other' } });
  const person = { key: 'oidc:ada', issuer: 'https://id.example' };
  expect(isSameCaller(person, { ...person, key: 'jwt:ada' })).toBe(true);
  expect(isSameCaller(person, { key: 'oidc:ada' })).toBe(false);
  expect(isSameCaller(person, { ...person, key: 'oidc:bob' })).toBe(false);
});

test('policies of a tenant that would read a large text often fail instead, and others are not concerned', () => {
  const rulesOf = (when: string) => {
    const policy = tenantPolicy({ rules: [{ name: 'a', when, decision: 'ask' }] });
    if (!policy.ok) throw new Error(policy.errors[0]?.message);
    return { tenant: 'acme', rules: compileRules(policy.settings) };
  };
  const operators = compileRules({ rules: [], counters: [], default: 'allow' });
  const decision = (when: string, policies: number, text: string, tool = 'a.b') => {
    const all = Array.from({ length: policies }, (_, at) => ({ ...rulesOf(when), name: `p${at}` }));
    const call = { ...CALL, tool, args: { text } };
    return joinRules(operators, all).rule(call, [], new Map());
  };
  const often = Array.from({ length: 8 }, (_, at) => `args.text.contains('${at}b')`).join(' || ');
  const guarded = `tool == 'a.b' && (${often})`;
  const large = 'a'.repeat(65_536);
  expect(decision(guarded, 2, large)).toMatchObject({ ruling: { decision: 'allow' } });
  expect(decision(guarded, 5, large)).toMatchObject({
    ruling: { decision: 'deny', rule: 'p0/a', failed: expect.stringContaining('too large') as string },
  });
  expect(decision(guarded, 5, large, 'a.c')).toMatchObject({ ruling: { decision: 'allow' } });
  expect(decision(guarded, 5, 'a'.repeat(20_000))).toMatchObject({ ruling: { decision: 'allow' } });
  // What reads only names and numbers is never too much.
  const plain = "tool.like('a.*') && has(args.amount) && args.amount > 1 && server in ['x', 'y']";
  expect(decision(plain, 10, large)).toMatchObject({ ruling: { decision: 'allow' } });
});
