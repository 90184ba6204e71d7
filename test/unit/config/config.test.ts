/** The configuration: its defaults, and a path for each fault.
 *  It must never show a value that may be a secret. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import type { Environment } from '../../../src/config/environment-values.ts';
import { fault, parse } from '../../support/parsed-config.ts';

const SECRET = 'hunter2-hunter2';

const paths = (raw: unknown, environment?: Environment): string[] =>
  fault(() => parse(raw, environment)).errors.map(({ path }) => path);

describe('an empty configuration', () => {
  test('gets every default', () => {
    expect(parse({})).toEqual({
      mcpServers: new Map(),
      serverVariables: {},
      tokenKeys: [],
      runtimeServerRules: null,
      runtime_servers: {
        enabled: false,
        kinds: ['http', 'openapi'],
        hosts: ['*'],
        private_addresses: false,
        environment: new Map(),
        most_per_tenant: 20,
        most: 200,
        concurrency: 10,
      },
      runtime_agents: {
        enabled: false,
        tools: ['*'],
        models: ['*'],
        limits: {},
        most_per_tenant: 20,
        most: 200,
      },
      runtime_policies: { enabled: false, most_per_tenant: 5, most: 200 },
      encryption: null,
      access: {},
      tenants: new Map(),
      webhooks: { endpoints: new Map() },
      search: { enabled: true },
      signals: {},
      budgets: { time_zone: 'UTC', rules: new Map() },
      flow: { weights: new Map(), rules: new Map() },
      adminKey: null,
      insecure: false,
      mcp: { keys_from: [] },
      providers: new Map(),
      models: new Map(),
      agents: {},
      directives: [],
      remote_directives: {},
      strategies: [],
      engine: { concurrency: 64, drain_ms: 5_000 },
      retention: { closed_ms: 86_400_000, longest_ms: 1_814_400_000 },
      queue_api: { enabled: true },
      limits: {
        body_bytes: 4_194_304,
        body_values: 20_000,
        streams: 1_000,
        mcp_hold_ms: 45_000,
        model_grace_ms: 10_000,
        batch: 1_000,
        arguments_bytes: 1_048_576,
        request_bytes: 67_108_864,
        result_bytes: 1_048_576,
        result_overflow: 'truncate',
        model_content_characters: 100_000,
        schema_check_ms: 2_000,
        max_open: 100_000,
        pause_ms: 300_000,
        pauses: { count: 10, total_ms: 3_600_000 },
      },
      durability: 'memory',
      http: { trusted_proxies: [], cors: { origins: [] } },
      worker: { lease_ms: 6_000, blocked_ms: 60_000, drain_ms: 20_000 },
      directory: '/etc/adjutant',
      redisUrl: undefined,
      prefix: 'adjutant',
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      port: 7_420,
      logLevel: 'info',
      logFormat: 'auto',
      metrics: { isOn: true, port: null, otlp: null },
      telemetry: { tracing: null, serviceName: 'adjutant', newNames: [], traceUrl: null },
    });
  });
});

test('a trusted proxy is a network that does not hold every address', () => {
  const parsed = (network: string) => () => parse({ http: { trusted_proxies: [network] } });
  for (const network of ['10.0.0.0/8', '10.0.0.7/32', 'fd00::/8', '::1/128'])
    expect(parsed(network)().http.trusted_proxies).toEqual([network]);
  for (const network of [
    '0.0.0.0/0',
    '::/0',
    '10.0.0.7',
    '10.0.0.0/33',
    'fe80::1%eth0/64',
    'proxy.example/8',
  ])
    expect(fault(parsed(network)).errors).toMatchObject([{ path: 'http.trusted_proxies[0]' }]);
});

describe('a server', () => {
  test('with two ways to reach it is refused in one line that names both', () => {
    const { errors } = fault(() =>
      parse({ mcpServers: { a: { command: 'node', url: 'https://x.example/mcp', args: [] } } }),
    );
    expect(errors).toEqual([
      { path: 'mcpServers.a', message: expect.stringMatching(/^has url and command: /) },
    ]);
  });

  test('with a url that is none is told which are', () => {
    const { errors } = fault(() => parse({ mcpServers: { a: { url: 'htp://x' } } }));
    expect(errors).toEqual([{ path: 'mcpServers.a.url', message: 'must be an http or https URL' }]);
  });

  test('with a command is started, with a url is reached', () => {
    const { mcpServers } = parse({
      mcpServers: { a: { command: 'node' }, b: { url: 'https://x.example/mcp' } },
    });
    expect(mcpServers.get('a')).toMatchObject({ command: 'node', args: [], env: {}, serial: false });
    expect(mcpServers.get('b')).toMatchObject({
      url: 'https://x.example/mcp',
      headers: {},
      directives: 'none',
      expose: true,
    });
    expect(mcpServers.get('a')?.lane).toEqual({
      concurrency: 50,
      max_queued: 10_000,
      timeout_ms: 30_000,
    });
  });

  test('that is disabled is left out, but checked', () => {
    expect(parse({ mcpServers: { a: { command: 'node', disabled: true } } }).mcpServers.size).toBe(0);
    expect(paths({ mcpServers: { a: { command: '', disabled: true } } })).toEqual(['mcpServers.a.command']);
  });
});

const server = (fields: object) => ({ mcpServers: { a: { command: 'node', ...fields } } });
const FOUND = { tool: 'find', happened: 'result.found' };
const reconciling = (fields: object) =>
  server({ effects: { pay: { repeat: 'once', reconcile: { ...FOUND, ...fields } } } });

test('keys of tenants are those that the variable holds', () => {
  const environment = { ADJUTANT_ENCRYPTION_KEYS: `k1=${'ab'.repeat(32)}` };
  const given = (id: string) => parse({ encryption: { tenants: { acme: [id] } } }, environment);
  expect(given('k1').encryption?.ofTenant).toEqual(new Map([['acme', new Set(['k1'])]]));
  expect(fault(() => given('k2')).message).toMatch(/tenants\.acme.*"k2", which ADJUTANT_ENCRYPTION_KEYS/);
});

test('who must encrypt is everyone, or tenants that have a key', () => {
  const required = (section: object) => parse({ encryption: section }).encryption?.required;
  expect(required({ required: true })).toBe('everyone');
  expect(required({ required: ['acme'] })).toEqual(new Set(['acme']));
  expect([required({}), required({ required: false })]).toEqual([new Set(), new Set()]);
  expect(fault(() => required({ required: ['acme'], tenants: { globex: ['k1'] } })).message).toMatch(
    /encryption\.required\[0\].*"acme" has no key/,
  );
});

describe('each fault names its path', () => {
  test.each<[string, unknown]>([
    ['', []],
    ['', 'text'],
    ['mcpServer', { mcpServer: {} }],
    ['mcpServers', { mcpServers: [] }],
    ['mcpServers.a', { mcpServers: { a: 7 } }],
    ['mcpServers.a.command', { mcpServers: { a: {} } }],
    ['mcpServers.a.comand', server({ comand: 'x' })],
    ['mcpServers.a.args[1]', server({ args: ['x', 1] })],
    ['mcpServers.a.env.KEY', server({ env: { KEY: 1 } })],
    ['mcpServers.a.sampling.model', server({ sampling: { model: 'nobody' } })],
    ['mcpServers.a.sampling.model', server({ sampling: { model: 'nobody:any' } })],
    ['mcpServers.a.sampling.model', server({ disabled: true, sampling: { model: 'nobody' } })],
    ['mcpServers.a.sampling.model', server({ sampling: {} })],
    [
      'mcpServers.a.sampling.max_tokens_per_call',
      server({ sampling: { model: 'fast', max_tokens: 50_000 } }),
    ],
    [
      'mcpServers.a.sampling.max_tokens_per_day',
      server({ sampling: { model: 'fast', max_tokens_per_day: 5 } }),
    ],
    ['mcpServers.a.sampling', { mcpServers: { a: { module: 'x.ts', sampling: { model: 'fast' } } } }],
    ['mcpServers.a.lane.concurrency', server({ lane: { concurrency: 0 } })],
    ['mcpServers.a.lane.timeout_ms', server({ lane: { timeout_ms: 2_147_483_648 } })],
    ['mcpServers.a.effects.write', server({ effects: { write: 'twice' } })],
    [
      'mcpServers.a.effects.pay.reconcile',
      server({ effects: { pay: { repeat: 'read', reconcile: FOUND } } }),
    ],
    ['mcpServers.a.effects.pay.reconcile.happened', reconciling({ happened: 'result.matches("(a+)+")' })],
    ['mcpServers.a.effects.pay.reconcile.happened', reconciling({ happened: 'size(result)' })],
    ['mcpServers.a.effects.pay.reconcile.arguments', reconciling({ arguments: { key: ['{{secret}}'] } })],
    ['mcpServers.a.effects.pay.reconcile.settle_ms', reconciling({ settle_ms: 60_001 })],
    ['mcpServers.a.serial', server({ serial: 'yes' })],
    ['mcpServers.a.url', { mcpServers: { a: { url: 'file:///etc/passwd' } } }],
    ['mcpServers.a.headers.X', { mcpServers: { a: { url: 'http://x.example', headers: { X: 1 } } } }],
    ['retention.closed_ms', { retention: { closed_ms: 0 } }],
    ['archive.after_ms', { archive: { folder: 'x', after_ms: 43_200_001 } }],
    [
      'archive.after_ms',
      { archive: { folder: 'x', after_ms: 31_000 }, tenants: { acme: { closed_ms: 60_000 } } },
    ],
    ['limits.batch', { limits: { batch: 1_001 } }],
    ['worker.drain_ms', { worker: { drain_ms: -1 } }],
  ])('%s', (path, raw) => {
    expect(paths(raw)).toEqual([path]);
  });

  test('a server whose name no lane can have', () => {
    expect(paths({ mcpServers: { 'a b': { command: 'x' } } })[0]).toContain('a b');
  });

  test('a budget of vectors, or of their models, that goes on with others', () => {
    const parsed = (rule: object) => {
      const models = { search: ['openai:text-embedding-3-large'], small: ['openai:gpt-5-mini'] };
      const rules = { spend: { tokens_per_day: 1, on_breach: 'cheaper', ...rule } };
      return () => parse({ models, budgets: { rules } });
    };
    const path = 'budgets.rules.spend.on_breach';
    for (const rule of [{ alias: 'search', cheaper: 'small' }, { cheaper: 'openai:text-embedding-3-small' }])
      expect(fault(parsed(rule)).errors).toEqual([
        { path, message: expect.stringMatching(/^is not for vectors: .* take "ask" or "stop"$/) },
      ]);
    expect(parsed({ alias: 'small', cheaper: 'openai:gpt-5-nano' })).not.toThrow();
    expect(parsed({ alias: 'search', on_breach: 'ask' })).not.toThrow();
  });

  test('a model for tools, beside the faults of other servers and sections', () => {
    const model = { sampling: { model: 'mine:any' } };
    const mcpServers = { a: { command: 'x', ...model }, b: { command: 'x', serial: 'yes' } };
    const others = ['mcpServers.b.serial', 'limits.batch'];
    const both = ['mcpServers.a.sampling.model', ...others].toSorted();
    expect(paths({ mcpServers, limits: { batch: 0 } }).toSorted()).toEqual(both);
    const mine = { providers: { mine: { type: 'scripted' } }, limits: { batch: 0 } };
    expect(paths({ mcpServers, ...mine }).toSorted()).toEqual(others.toSorted());
    const unknown = { models: { 'a b': 'x' }, mcpServers, limits: { batch: 0 } };
    expect(paths(unknown)).not.toContain('mcpServers.a.sampling.model');
  });

  test('an unknown control directive', () => {
    expect(paths(server({ directives: ['stop_processing', 'nonsense'] }))[0]).toMatch(
      /^mcpServers\.a\.directives/,
    );
  });

  test('and the error names the file', () => {
    const error = fault(() => parse({ worker: { drain_ms: -1 } }));
    expect(error.message).toMatch(/^adjutant\.json: worker\.drain_ms /);
  });
});

describe('the environment', () => {
  test('is read', () => {
    const environment = {
      REDIS_URL: 'redis://x',
      ADJUTANT_PREFIX: 'p',
      ADJUTANT_HOST: '::1',
      ADJUTANT_ALLOWED_HOSTS: 'box.example, [fe80::1],',
      ADJUTANT_ALLOWED_ORIGINS: 'https://host.example, http://localhost:6274',
      ADJUTANT_PORT: '0',
    };
    expect(parse({}, environment)).toMatchObject({
      redisUrl: 'redis://x',
      prefix: 'p',
      host: '::1',
      allowedHosts: ['box.example', '[fe80::1]'],
      allowedOrigins: ['https://host.example', 'http://localhost:6274'],
      port: 0,
    });
  });

  test.each([
    ['ADJUTANT_PORT', 'many'],
    ['ADJUTANT_PORT', '65536'],
    ['ADJUTANT_PREFIX', 'a:b'],
    ['ADJUTANT_PREFIX', '{a}'],
    ['ADJUTANT_LOG_LEVEL', 'loud'],
    ['ADJUTANT_ALLOWED_HOSTS', 'box.example:7420'],
    ['ADJUTANT_ALLOWED_HOSTS', 'https://box.example'],
    ['ADJUTANT_ALLOWED_ORIGINS', '*'],
    ['ADJUTANT_ALLOWED_ORIGINS', 'box.example'],
    ['ADJUTANT_ALLOWED_ORIGINS', 'https://box.example/'],
  ])('%s=%s is refused by name', (name, value) => {
    expect(paths({}, { [name]: value })).toEqual([name]);
  });

  test('that is not a port is refused in words', () => {
    const read = (): unknown => parse({}, { ADJUTANT_PORT: 'many' });
    expect(read).toThrow('ADJUTANT_PORT must be a whole number from 0 to 65535');
  });

  test('set but empty counts as not set', () => {
    const empty = {
      ADJUTANT_PORT: '',
      ADJUTANT_PREFIX: '',
      ADJUTANT_HOST: '',
      ADJUTANT_ALLOWED_HOSTS: '',
      ADJUTANT_LOG_LEVEL: '',
      REDIS_URL: '',
    };
    expect(parse({}, empty)).toEqual(parse({}, {}));
  });
});

describe('a secret', () => {
  test('is filled in from the environment', () => {
    const raw = { mcpServers: { a: { url: 'https://x.example', bearer_token: '${TOKEN}' } } };
    expect(parse(raw, { TOKEN: SECRET }).mcpServers.get('a')).toMatchObject({ bearer_token: SECRET });
  });

  test('that is missing is named by variable and place', () => {
    const error = fault(() =>
      parse({ mcpServers: { a: { url: 'https://x.example', bearer_token: '${TOKEN}' } } }),
    );
    expect(error.errors).toEqual([
      { path: 'mcpServers.a.bearer_token', message: expect.stringContaining('TOKEN') as string },
    ]);
    expect(error.fix).toMatch(/^Set the variable/);
  });

  test.each<[string, unknown]>([
    ['a url', { mcpServers: { a: { url: '${S}' } } }],
    ['an effect', server({ effects: { write: '${S}' } })],
    ['a control directive', server({ directives: ['${S}'] })],
    ['trust', server({ directives: '${S}' })],
    ['a type', server({ type: '${S}' })],
    ['a number', { limits: { batch: '${S}' } }],
  ])('in the place of %s is not shown', (_place, raw) => {
    expect(fault(() => parse(raw, { S: SECRET })).message).not.toContain(SECRET);
  });
});

describe('a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-config-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function file(text: string): string {
    const path = join(folder, 'adjutant.json');
    writeFileSync(path, text);
    return path;
  }

  test('is read, and relative paths start from its folder', () => {
    expect(loadConfig(file('{"worker": {"drain_ms": 5}}'), {})).toMatchObject({
      directory: folder,
      worker: { drain_ms: 5 },
    });
  });

  test('that is named must exist, whether by option or variable', () => {
    const missing = join(folder, 'missing.json');
    expect(fault(() => loadConfig(missing, {})).message).toContain('missing.json');
    expect(fault(() => loadConfig(missing, {})).fix).toMatch(/^Name a file that exists/);
    expect(fault(() => loadConfig(undefined, { ADJUTANT_CONFIG: missing })).message).toContain(
      'does not exist',
    );
  });

  // PowerShell writes UTF-16 where it redirects into a file.
  test.each([
    ['little', [0xff, 0xfe]],
    ['big', [0xfe, 0xff]],
  ])('in UTF-16 of %s end first is read by its mark', (order, mark) => {
    const text = Buffer.from('{"worker": {"drain_ms": 7}}', 'utf16le');
    const bytes = Buffer.concat([Buffer.from(mark), order === 'big' ? text.swap16() : text]);
    const path = file('');
    writeFileSync(path, bytes);
    expect(loadConfig(path, {})).toMatchObject({ worker: { drain_ms: 7 } });
  });

  test.each([
    [
      { command: 'npx', timeout: 60 },
      /timeout is not a known key.*; milliseconds in `lane\.timeout_ms` limit a call/,
    ],
    [{ command: 'npx', startup_timeout_sec: 60 }, /; milliseconds in `start_timeout_ms` limit the start/],
    [{ httpUrl: 'https://host.example/mcp' }, /httpUrl is not a known key.*; write the address as `url`/],
  ])('names the key of here for one of another host: %j', (server, says) => {
    const path = file(JSON.stringify({ mcpServers: { a: server } }));
    expect(fault(() => loadConfig(path, {})).message).toMatch(says);
  });

  test('stops the start at a placeholder that is no variable, with a fix of its own', () => {
    const path = file(
      '{"mcpServers": {"a": {"url": "https://host.example", "bearer_token": "${input:key}"}}}',
    );
    const { faults } = fault(() => loadConfig(path, {}));
    expect(faults).toEqual([
      {
        says: expect.stringMatching(
          /mcpServers\.a\.bearer_token has the placeholder \$\{input:key\}/,
        ) as string,
        fix: expect.stringMatching(/^Write \$\{NAME\} or \$\{env:NAME\}/) as string,
      },
    ]);
  });

  test('names every fault at once, each with its own fix and the place of what it is in', () => {
    const lines = [
      '{',
      '  "mcpServers": {',
      '    "a": { "args": [] },',
      '    "b": { "command": "x", "comand": "y" },',
      '    "c": { "url": "${NOT_SET}" }',
      '  },',
      '  "limit": {}',
      '}',
    ];
    const path = file(lines.join('\n'));
    const { faults } = fault(() => loadConfig(path, { ADJUTANT_PORT: 'x' }));
    expect(faults.map(({ says }) => says)).toEqual([
      expect.stringMatching(/adjutant\.json:7:3 limit is not a known key; did you mean "limits"\?$/),
      `${path}:3:5 mcpServers.a.command is required`,
      expect.stringMatching(/adjutant\.json:4:28 mcpServers\.b\.comand is not a known key/),
      `${path}:5:12 mcpServers.c.url names the environment variable NOT_SET, which is not set`,
      expect.stringMatching(/^environment: ADJUTANT_PORT must be a whole number/),
    ]);
    const fixes = faults.map(({ fix }) => fix.split(' ').slice(0, 3).join(' '));
    expect(fixes).toEqual([
      'Correct the file,',
      'Correct the file,',
      'Correct the file,',
      'Set the variable,',
      'Correct the variable,',
    ]);
  });

  test('named by an empty variable is not named', () => {
    const { directory, mcpServers } = loadConfig(undefined, {});
    expect(loadConfig(undefined, { ADJUTANT_CONFIG: '' })).toMatchObject({ directory, mcpServers });
  });

  test.each([
    `{"bearer_token": ${SECRET}}`,
    `{"bearer_token": "${SECRET}"`,
    `{"a": "${SECRET}" "b"}`,
    SECRET,
  ])('that is not JSON is refused without its content: %s', (text) => {
    const error = fault(() => loadConfig(file(text), {}));
    expect(error.message).toContain('is not JSON');
    for (let at = 0; at + 5 <= SECRET.length; at += 1) {
      expect(error.message).not.toContain(SECRET.slice(at, at + 5));
    }
  });

  test.each([
    ['tenants', { acme: { maxopen: 1 } }, /maxopen is not a known key; did you mean "max_open"/],
    ['tenants', { Acme: {} }, /must be 1 to 32 characters/],
    ['archive', { folder: 'a', hold_ms: '1d' }, /hold_ms must be a whole number of milliseconds/],
    ['archive', { bucket: 'B' }, /must be 3 to 63 characters/],
  ])('a fault in %s says what would be right: %j', (section, value, says) => {
    const path = file(JSON.stringify({ [section]: value }));
    const { faults } = fault(() => loadConfig(path, {}));
    expect(faults.map((each) => each.says).join('\n')).toMatch(says);
  });

  test.each(['redis+cluster://x:1,y:2', 'rediss+cluster://x:1'])(
    'with a stream of all signals is refused on the cluster %s, where signals could be missing in it',
    (REDIS_URL) => {
      const path = file(JSON.stringify({ signals: { stream: { max_entries: 1_000 } } }));
      expect(fault(() => loadConfig(path, { REDIS_URL })).message).toContain('signals.stream');
      expect(loadConfig(path, { REDIS_URL: 'redis://x' }).signals.stream).toEqual({ max_entries: 1_000 });
    },
  );

  test('of two places of the archive only that is said', () => {
    const path = file(JSON.stringify({ archive: { folder: 'a', bucket: 'abc' } }));
    expect(fault(() => loadConfig(path, {})).faults).toHaveLength(1);
  });
});
