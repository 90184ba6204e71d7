/** The texts of the command line: tables, payloads, signals, errors and findings. */
import { Command } from 'commander';
import { filterHints, printFailure } from '../../../src/cli/failure-lines.ts';
import { addLaterOptions } from '../../../src/cli/options/submission-options.ts';
import { nextCommands } from '../../../src/cli/commands/get.ts';
import { describe, expect, test } from 'vitest';
import { objectArgument } from '../../../src/cli/options/option-values.ts';
import { ADJUTANT, beforeOptions, commandName } from '../../../src/cli/command-name.ts';
import type { ListedLane } from '../../../src/contract/request/lane-listing.ts';
import type { ListedWorker } from '../../../src/contract/request/worker-listing.ts';
import { redriveDead } from '../../../src/cli/commands/dead.ts';
import { createSchedule } from '../../../src/cli/commands/schedules.ts';
import { budgets } from '../../../src/cli/commands/budgets.ts';
import { roleFindings, workerFindings } from '../../../src/cli/commands/doctor.ts';
import { listen } from '../../../src/cli/commands/listen.ts';
import { createKey } from '../../../src/cli/commands/keys.ts';
import type { AccessClient, SubmittedKey } from '../../../src/contract/access/access.ts';
import { explain } from '../../../src/cli/explanation.ts';
import { PayloadUnreadable } from '../../../src/contract/encrypted/encrypted.ts';
import { CliFailure } from '../../../src/cli/failure.ts';
import type { Invocation } from '../../../src/cli/invocation.ts';
import { payloadText } from '../../../src/cli/commands/payload.ts';
import { signalLine } from '../../../src/cli/following/signal-lines.ts';
import { table } from '../../../src/cli/table.ts';
import { createTerminal } from '../../../src/cli/terminal.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../../src/contract/problem.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { textStream } from '../../support/text-stream.ts';

const plain = (_style: string, text: string): string => text;

describe('a table', () => {
  test('aligns its columns, whatever their colour, and pads no line end', () => {
    const rows = [
      ['\u001B[1ma\u001B[22m', 'x', 'last'],
      ['long', 'y', ''],
    ];
    expect(table(rows)).toEqual(['\u001B[1ma\u001B[22m     x  last', 'long  y  ']);
    expect(table([])).toEqual([]);
  });

  test('has a line for each row, whatever the name of a tool holds', () => {
    const breaks = '\t\n\u000B\f\r\u0085\u2028\u2029';
    expect(table([[`tool${breaks}forged  read`, 'once']])).toEqual(['tool forged  read  once']);
  });
});

describe('a new key', () => {
  const made: SubmittedKey[] = [];
  const keys = {
    create: async (key: SubmittedKey) => {
      made.push(key);
      return Promise.reject(new Error('enough'));
    },
  } as unknown as AccessClient;
  const terminal = createTerminal(textStream(false), textStream(false));
  const invocation = { keys, terminal, json: false };

  test('takes scopes with commas', async () => {
    await expect(createKey(invocation, 'ci', { scopes: ['submit,read', 'cancel'] })).rejects.toThrow(
      'enough',
    );
    expect(made.at(-1)?.scopes).toEqual(['submit', 'read', 'cancel']);
  });

  test('says of a bare number which units there are', async () => {
    const created = createKey(invocation, 'ci', { scopes: ['read'], expires: '90' });
    await expect(created).rejects.toMatchObject({ how: expect.stringContaining('30d (days)') as string });
  });
});

describe('a budget', () => {
  const listed = (limit: number) => ({
    name: 'small',
    tokens: { used: 0, limit: null },
    money: { used: 0, limit },
    calls: 0,
    breaches: 0,
    on_breach: 'stop',
  });

  test.each([
    [5, /0\.0000 of 0\.000005/],
    [5_000_000, /0\.0000 of 5\.0000/],
  ])('of %d millionths is shown as it is', async (limit, shown) => {
    const stdout = textStream(false);
    const day = { currency: 'USD', day: '2027-01-31', time_zone: 'UTC', resets_at: '2027-02-01T00:00:00Z' };
    const client = { budgets: async () => ({ ...day, budgets: [listed(limit)] }) };
    const terminal = createTerminal(stdout, textStream(false));
    await budgets({ client, terminal, json: false } as unknown as Invocation);
    expect(stdout.text()).toMatch(shown);
  });

  test('of each tenant says how many more there are', async () => {
    const stderr = textStream(false);
    const day = { currency: 'USD', day: '2027-01-31', time_zone: 'UTC', resets_at: '2027-02-01T00:00:00Z' };
    const listing = { ...day, budgets: [listed(5)], more: [{ name: 'each', budgets: 7 }] };
    const client = { budgets: async () => listing };
    const terminal = createTerminal(textStream(false), stderr);
    await budgets({ client, terminal, json: false } as unknown as Invocation);
    expect(stderr.text()).toContain('each: 7 more, of which less is used.');
  });
});

describe('dead redrive --dry-run', () => {
  test('asks once, and names what would be redriven', async () => {
    const asked: unknown[] = [];
    const found = [{ request_id: 'r', id: 'a' }];
    const client = {
      redrive: async (body: unknown) => {
        asked.push(body);
        return { redriven: [], not_found: [], refused: [], left: 1, found };
      },
      directive: async () => null,
    };
    const stdout = textStream(false);
    const terminal = createTerminal(stdout, textStream(false));
    const interrupt = new AbortController().signal;
    const invocation = { client, terminal, json: false, interrupt } as unknown as Invocation;
    expect(await redriveDead(invocation, [], { all: true, dryRun: true })).toBe(0);
    expect(asked).toEqual([{ all: true, limit: 1_000, dry_run: true }]);
    expect(stdout.text()).toBe('r/a  would be redriven\n');
  });

  test('says which calls may have happened already', async () => {
    const found = [
      { request_id: 'r', id: 'a' },
      { request_id: 'r', id: 'b' },
    ];
    const ended = (error: object) => ({ directive: {}, result: { data: { result: { ok: false, error } } } });
    const client = {
      redrive: async () => ({ redriven: [], not_found: [], refused: [], left: 0, found }),
      directive: async (_: string, id: string) =>
        ended(id === 'a' ? { type: 'outcome_unknown' } : { type: 'timeout', details: {} }),
    };
    const stdout = textStream(false);
    const terminal = createTerminal(stdout, textStream(false));
    const invocation = { client, terminal, json: false } as unknown as Invocation;
    await redriveDead(invocation, ['r/a', 'r/b'], { dryRun: true });
    expect(stdout.text()).toMatch(
      /^r\/a +would be redriven +may have happened already.*\nr\/b +would be redriven\n$/,
    );
  });
});

describe('a filter that fits nothing', () => {
  const client = { lanes: async () => ({ lanes: [{ name: 'tool.weather' }] }) } as never;

  test.each([
    [{ errorType: 'time_out' }, ['did you mean --error-type timeout?']],
    [{ errorType: 'timeout' }, []],
    [{ errorType: 'out_of_stock' }, []],
    [{ lane: 'tool.wether' }, ['did you mean --lane tool.weather?']],
    [{ lane: 'tool.weather' }, []],
  ])('%j has the hints %j', async (filter, hints) => {
    expect(await filterHints(filter, client)).toEqual(hints);
  });
});

describe('what can be typed next', () => {
  const view = (more: object) => ({ request_id: 'r', directives: [], ...more }) as never;

  test('decides what waits for a decision', () => {
    const waiting_for = [
      { kind: 'approval', id: "a'b" },
      { kind: 'timer', id: 't' },
    ];
    expect(nextCommands(view({ run: { waiting_for } }), [])).toEqual([
      String.raw`npx adjutant approve r 'a'\''b'`,
      String.raw`npx adjutant deny r 'a'\''b' --reason '…'`,
    ]);
  });

  test('redrives what failed, and neither what was redriven already nor what was cancelled', () => {
    const ended = (id: string, type = 'timeout') => ({
      id,
      result: { data: { result: { error: { type } } } },
    });
    const directives = ['a', 'a.redrive-1', 'b', 'c'].map((id) => ({ id, attempts: 1 }));
    const failed = [ended('a'), ended('b'), ended('c', 'cancelled')];
    expect(nextCommands(view({ directives }), failed)).toEqual(['npx adjutant dead redrive r/b']);
  });
});

test('a delay above a year is refused with the most', () => {
  const command = addLaterOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  expect(() => command.parse(['--in', '400d'], { from: 'user' })).toThrow(/at most 365d/);
});

test.each([
  ['not_found', 'There is no schedule "x".', /schedule list/],
  ['id_conflict', 'There is another schedule "x": delete it first.', /schedule show/],
] as const)('%s of a schedule names a verb of schedules', (code, detail, how) => {
  expect(explain(new DirectiveRefused(problem(code, { detail })))?.how).toMatch(how);
});

test.each([
  [{ tool: 't' }, /--cron .* --every/],
  [{ tool: 't', every: 10_000, zone: 'UTC' }, /--cron instead of --every/],
  [{ agent: 'default', every: 10_000 }, /--query/],
])('schedule create with %j names the missing option', async (options, how) => {
  const created = createSchedule({} as Invocation, 'bad', options);
  await expect(created).rejects.toMatchObject({ how: expect.stringMatching(how) as string, exitCode: 2 });
});

describe('a failure', () => {
  test.each(['deadline_exceeded', 'budget_spent', 'unknown_model'])('%s has a fix', (type) => {
    const stderr = textStream(false);
    const error = { type, message: 'm', details: {}, retryable: false } as const;
    printFailure(createTerminal(textStream(false), stderr), error, { requestId: 'r', id: 'a' });
    expect(stderr.text()).toMatch(/^ {3}fix \S/m);
  });

  test.each([
    [{ path: 'a.b', message: 'is\nrequired' }, 'a.b: is required'],
    [null, 'null'],
    ['text', '"text"'],
    [{ path: 5 }, '{"path":5}'],
    [['a'], '["a"]'],
  ])('whose tool lists %j among its errors shows it', (error, line) => {
    const stderr = textStream(false);
    const told = {
      type: 'tool_error',
      message: 'no',
      details: { errors: [error] },
      retryable: false,
    } as const;
    printFailure(createTerminal(textStream(false), stderr), told, { requestId: 'r', id: 'a' });
    expect(stderr.text()).toBe(`failed tool_error: no\n       ${line}\n   see ${ADJUTANT} get r a\n`);
  });
});

describe('a payload', () => {
  test.each([
    ['text', 'hello', 'hello'],
    [
      'text items',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      'a\nb',
    ],
    ['an object', { sum: 5 }, '{\n  "sum": 5\n}'],
    ['nothing', null, 'null'],
    ['an empty list', [], '[]'],
  ])('that is %s', (_, payload, text) => {
    expect(payloadText(payload)).toBe(text);
  });

  test('with other content than text is shown whole', () => {
    const payload = {
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', data: 'AA==' },
      ],
    };
    expect(JSON.parse(payloadText(payload))).toEqual(payload);
  });
});

describe('a signal', () => {
  const signal = (type: string, data: unknown): Signal =>
    ({ type, data, sequence: 3, subject: 'r', time: '2026-01-02T03:04:05.678Z' }) as unknown as Signal;
  const turn = (more: object) => ({
    type: 'final_answer',
    text: '',
    thinking: '',
    tool_calls: [],
    usage: null,
    model: 'm',
    finish_reason: 'stop',
    duration_ms: 5,
    first_chunk_ms: null,
    ...more,
  });
  const error = { type: 'timeout', message: 'too slow', details: {}, retryable: true };

  test.each([
    ['ai.tool.started', { call_id: 'c', tool_name: 'a.b' }, 'c a.b'],
    ['ai.tool.progress', { call_id: 'c', progress: 1, total: 2, message: 'half' }, 'c 1/2 half'],
    [
      'ai.tool.progress',
      { call_id: 'c', progress: 0, message: 'waits for its server' },
      'c waits for its server',
    ],
    ['ai.tool.result', { call_id: 'c', result: { ok: true, payload: 'fine' } }, 'c fine'],
    ['ai.tool.result', { call_id: 'c', result: { ok: false, error } }, 'c timeout: too slow'],
    [
      'directive.retry_scheduled',
      { call_id: 'c', failures: 1, max_retries: 2, delay_ms: 5, error },
      'c retry 1/2 in 5 ms after timeout: too slow',
    ],
    [
      'directive.retry_scheduled',
      {
        call_id: 'c',
        failures: 1,
        max_retries: 0,
        delay_ms: 0,
        error,
        metadata: { fallback: { from: 'a:x', to: 'b:y', reason: 'timeout' } },
      },
      'c continues with b:y instead of a:x after timeout: too slow',
    ],
    [
      'ai.tool.result',
      { call_id: 'c', result: { ok: false, error: { ...error, details: { reason: 'not\u001Bneeded' } } } },
      'c timeout: too slow (not\uFFFDneeded)',
    ],
    [
      'directive.waiting',
      { call_id: 'c', message: 'it is\ndown', until: '2026-01-02T14:02:11.000Z' },
      'c waits: it is down, tried again at 2026-01-02 14:02:11',
    ],
    ['directive.waiting', { call_id: 'c', message: 'no worker', until: null }, 'c waits: no worker'],
    [
      'directive.waiting',
      { call_id: 'c', reason: 'input_required', message: 'it asks', until: '2026-01-02T14:02:11.000Z' },
      'c waits: it asks, until 2026-01-02 14:02:11',
    ],
    ['ai.request.error', { reason: 'busy', message: 'later' }, 'r busy: later'],
    ['ai.llm.delta', { call_id: 'c', chunk_type: 'thinking', delta: 'so\nwhat' }, 'c thinking so what'],
    ['ai.llm.response', { call_id: 'c', result: { ok: true, payload: turn({ text: 'a\nb' }) } }, 'c a b'],
    [
      'ai.llm.response',
      {
        call_id: 'c',
        result: { ok: true, payload: turn({ tool_calls: [{ id: 'i', name: 's.t', arguments: {} }] }) },
      },
      'c calls s.t',
    ],
    ['ai.usage', { call_id: 'c', model: 'm', input_tokens: 3, output_tokens: 4 }, 'c m 3 → 4 tokens'],
    ['ai.request.started', { request_id: 'r', query: 'why?' }, 'r why?'],
    ['ai.request.completed', { request_id: 'r', result: 'because' }, 'r because'],
    ['ai.request.failed', { request_id: 'r', error }, 'r timeout: too slow'],
    ['ai.request.failed', { request_id: 'r', error: { odd: 1 } }, 'r { "odd": 1 }'],
    [
      'ai.tool.approval_requested',
      { call_id: 'c', tool_name: 's.t', arguments: { a: 1 }, reason: 'destructive' },
      'c s.t {"a":1} (destructive)',
    ],
    ['ai.tool.approval_decided', { call_id: 'c', decision: 'deny', reason: 'no' }, 'c denied (no)'],
    ['agent.child.started', { tag: 'x', agent: 'a', child_request_id: 'q' }, 'r x: a in q'],
    ['ai.something.new', { call_id: 'c', a: 1 }, 'c {"call_id":"c","a":1}'],
  ])('%s is one line with its gist', (type, data, gist) => {
    expect(signalLine(signal(type, data), plain)).toBe(`   3 03:04:05.678 ${type.padEnd(26)} ${gist}`);
  });
});

describe('an error', () => {
  test.each([
    ['a service out of reach', new ServiceUnavailable('gone'), 3],
    ['a refused body', new DirectiveRefused(problem('invalid_body')), 2],
    ['a conflict', new DirectiveRefused(problem('id_conflict')), 1],
    ['what is not there', new DirectiveRefused(problem('not_found')), 1],
    ['a failure of the command', new CliFailure({ what: 'a', how: 'b', exitCode: 130 }), 130],
  ])('%s has its exit code and a fix', (_, error, exitCode) => {
    const explanation = explain(error);
    expect(explanation?.exitCode).toBe(exitCode);
    expect(explanation?.how).not.toBe('');
  });

  test('where Redis is away, what was accepted is not known, and the same ids are safe', () => {
    const away = explain(new ServiceUnavailable('Redis is unreachable', { retryAfterMs: 1_000 }));
    expect(away?.how).toMatch(
      /doctor.*may have been accepted.*requests list.*with the same ids it is the same/,
    );
  });

  test('a payload in another key than the one that is here names the variable, and is no bug of ours', () => {
    const place = { request: 'r', id: 'a', field: 'result' } as const;
    const explained = explain(new PayloadUnreadable('damaged', 'k1', place));
    expect(explained).toMatchObject({
      exitCode: 1,
      how: expect.stringContaining('ADJUTANT_ENCRYPTION_KEYS'),
    });
  });

  test('of a store of large payloads that is away says nothing of what may have been accepted', () => {
    const error = new ServiceUnavailable('the folder /x does not take large payloads at present (ENOENT)', {
      retryAfterMs: 5_000,
    });
    expect(explain(error)?.how).toMatch(/^Submit it again.*doctor/);
  });

  test.each(['singleton_open', 'not_waiting'] as const)('%s has a fix of its own', (code) => {
    expect(explain(new DirectiveRefused(problem(code)))?.how).not.toMatch(/^Correct it/);
  });

  test.each(['abc', `whsec_${'A'.repeat(31)}`, `whsec_${'A'.repeat(88)}`])(
    'the secret %s, which no receiver takes, is refused before anything is watched',
    async (secret) => {
      const listening = listen({} as Invocation, { forward: 'http://127.0.0.1:9/hook', secret });
      await expect(listening).rejects.toThrow('--secret must be "whsec_" and 24 to 64 bytes');
    },
  );

  test('a misspelt id of a request is named, and waited for', async () => {
    const [out, err] = [textStream(false), textStream(false)];
    const interrupt = AbortSignal.abort();
    const client = { request: async () => null };
    const invocation = { client, terminal: createTerminal(out, err), interrupt, json: false };
    const options = { forward: 'http://127.0.0.1:9/hook', request: 'nosuch' };
    await listen(invocation as unknown as Invocation, options);
    expect(err.text()).toContain('there is no request "nosuch" yet');
  });

  test.each([
    [
      'the tenant "acme"',
      'Wait until one of its directives ends; or the operator raises tenants.acme.max_open.',
    ],
    ['the service', 'Wait until directives end; or the operator raises limits.max_open.'],
    ['lane tool.a', 'Try again later, or start more workers.'],
  ])('%s that is full is mended where it is full', (what, how) => {
    const detail = `${what} holds its limit of 2 directives; nothing was accepted, try again later`;
    expect(explain(new DirectiveRefused(problem('lane_full', { detail })))?.how).toBe(how);
  });

  test.each([
    ['Request r is still open: it is archived when it has closed.', /^`.*get REQUEST` shows it/],
    ['Request r has closed, and is not stored in the archive yet.', /again in a moment/],
    ['The archive holds no request r.', /^Check the id, and the tenant/],
  ])('of an archive is mended by what it says: %s', (detail, how) => {
    expect(explain(new DirectiveRefused(problem('not_found', { detail })))?.how).toMatch(how);
  });

  test('a refusal names each place', () => {
    const errors = [{ path: 'directives[1].id', message: 'is wrong' }];
    expect(explain(new DirectiveRefused(problem('invalid_body', { errors })))?.what).toContain(
      'directives[1].id: is wrong',
    );
  });

  test('reports a fault once, and how to list the agents', () => {
    const detail = 'there is no agent "nobody"; known agents: default';
    const refusal = problem('not_found', { detail, errors: [{ path: 'agent', message: detail }] });
    expect(explain(new DirectiveRefused(refusal))).toMatchObject({
      what: `not_found: ${detail}`,
      how: `\`${ADJUTANT} agents\` lists the agents.`,
    });
  });

  test('a bug of our own is not explained', () => {
    expect(explain(new TypeError('undefined is not a function'))).toBeNull();
  });
});

describe('the findings', () => {
  test('of the workers name the servers that they cannot reach, and those that none reports', () => {
    const server = { tools: 2, updated_at: '2026-01-01T00:00:00Z' };
    const ready = { ...server, name: 'a', status: 'ready' } as const;
    const away = { ...server, name: 'b', status: 'unavailable', error: 'spawn ENOENT' } as const;
    const findings = workerFindings([ready, away], ['a', 'c']);
    expect(findings.map(({ subject, ok }) => [subject, ok])).toEqual([
      ['workers', false],
      ['workers', false],
    ]);
    expect(findings[0]?.says).toMatch(/\bb is unavailable: spawn ENOENT/);
    expect(findings[1]?.says).toMatch(/\bc$/);
    for (const { fix } of findings) expect(fix).toBeTruthy();
    expect(workerFindings([ready], ['a'])).toMatchObject([{ subject: 'workers', ok: true, fix: null }]);
    // Its first start may download it: no fault of the machine.
    const starting = { ...server, name: 'a', status: 'connecting' } as const;
    expect(workerFindings([starting], ['a'])).toMatchObject([
      { says: 'report that the server a is connecting', ok: true, fix: expect.stringMatching(/^Wait: /) },
    ]);
  });

  test('of the roles say which has no process, and which lane with work no process serves', () => {
    const process = (...roles: string[]) => ({ roles, state: 'working' }) as ListedWorker;
    const waits = { reason: 'no_worker', until: null, message: 'nobody' };
    const lane = (name: string, waiting: number) => ({ name, waits, waiting, delayed: 0 }) as ListedLane;
    // The last one is left over from a removed provider.
    const absent = { waits: { ...waits, reason: 'no_program' }, programs: { asked_at: null, waiting: 2 } };
    const remote = [
      { ...lane('custom.a', 0), ...absent },
      {
        ...lane('custom.b', 0),
        waits: undefined,
        programs: { asked_at: '2026-01-02T03:04:05.000Z', waiting: 0 },
      },
    ] as ListedLane[];
    const lanes = [lane('run', 1), lane('tool.a', 1), lane('llm.gone', 0), ...remote];
    const programs = [
      'programs false of the lane custom.a: none has asked for work in the last day, 2 waiting',
      'programs true of the lane custom.b: work was last asked for at 2026-01-02 03:04:05, 0 waiting',
    ];
    const said = (present: ListedWorker[] | null) =>
      roleFindings(present, lanes).map(({ subject, ok, says }) => `${subject} ${ok} ${says}`);
    expect(said([process('api')])).toEqual([
      'processes true 1 with api, 0 with engine, 0 with worker',
      'engines true none works: runs wait for one',
      'workers false none works: every directive waits',
      ...programs,
    ]);
    expect(
      said([
        process('api', 'engine'),
        { ...process('worker'), state: 'drained' },
        { ...process('api'), state: 'stopping' },
      ]),
    ).toEqual([
      'processes true 2 with api, 1 with engine, 1 with worker; 1 drained; 1 stopping',
      'workers false none takes work of the lane tool.a',
      ...programs,
    ]);
    expect(said(null)).toEqual([]);
  });
});

test.each([
  [{ PATH: '/usr/bin:/opt/bin' }, '/opt/bin/adjutant', 'adjutant'],
  [{ PATH: '/usr/bin' }, '/opt/bin/adjutant', 'npx adjutant'],
  [{ PATH: '/home/me/node_modules/.bin' }, '/home/me/node_modules/.bin/adjutant', 'npx adjutant'],
  [{ PATH: '/opt/bin', npm_command: 'exec' }, '/opt/bin/adjutant', 'npx adjutant'],
  [{}, '/opt/bin/adjutant', 'npx adjutant'],
])('with %j and the file %s the command is %s', (environment, file, name) => {
  expect(commandName(environment, (path) => path === file)).toBe(name);
});

test('an option of `npm start` stands behind `--`', () => {
  expect(beforeOptions({ npm_lifecycle_event: 'start' })).toBe('npm start -- ');
  expect(beforeOptions({ npm_lifecycle_event: 'npx' })).toBe('');
});

test('an argument in which a number would lose digits is refused at its place', () => {
  expect(() => objectArgument('{"a":[{"id":9007199254740993}]}')).toThrow(
    /a\[0\]\.id .* send it as a string/,
  );
  expect(objectArgument('{"id":9007199254740991}')).toEqual({ id: 9_007_199_254_740_991 });
});
