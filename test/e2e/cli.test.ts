/** The command line as a person or a script uses it: output and exit codes, against a service in its own process.
 *  It must run each command as a process at least once; further cases of a command run in the process of the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkers } from '../../src/store/catalog/workers.ts';
import { keySpace } from '../../src/store/keys.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';
import { cliFolder, type Run, startCli, watchOutput } from '../support/cli.ts';
import { URL_OF_A_SERVICE, useCliService } from '../support/cli-service.ts';
import { runCommand } from '../support/command.ts';
import { eventually, untilHolds, untilListed } from '../support/eventually.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { endWithTests, freePort } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { follow, post } from '../support/public-api.ts';
import { startRedis } from '../support/redis.ts';
import { listWorkers } from '../../src/directives/queue-client.ts';

const folders: string[] = [];

async function folder(files: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const path = await cliFolder(files);
  folders.push(path);
  return path;
}

const CONFIG = { mcpServers: { peer: ownServerEntry('legacy-peer.ts') }, worker: { drain_ms: 0 } };

const { service, start, run, cli } = useCliService(async () => CONFIG);

beforeAll(async () => untilListed(service.url, 'peer.add'));
afterAll(async () => {
  for (const path of folders) await rm(path, { recursive: true, force: true });
});

/** A directive of `peer.wait` that is under way. */
async function waiting(at: string, request: string): Promise<void> {
  const call = { type: 'tool_exec', tool_name: 'peer.wait', request_id: request, id: 'a' };
  expect((await post(`${at}/v1/directives`, call)).status).toBe(202);
  for await (const { type } of follow(at, request)) if (type === 'ai.tool.started') return;
}

describe('call', () => {
  test('prints the tool’s answer', async () => {
    expect(await run(['call', 'peer.echo', '{"a":1}'])).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
  });

  test('prints structured content as JSON', async () => {
    const { code, stdout } = await cli('call', 'peer.add', '{"a":2,"b":3}');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ sum: 5 });
  });

  test('prints the envelope with --json, wherever it stands', async () => {
    const call = ['call', 'peer.add', '{"a":2,"b":3}'];
    for (const args of [
      [...call, '--json'],
      ['--json', ...call],
    ])
      expect(JSON.parse((await cli(...args)).stdout)).toEqual({ ok: true, payload: { sum: 5 }, effects: [] });
  });

  test('exits 1 with the error and its place when the directive fails', async () => {
    const wrong = await run(['call', 'peer.add', '{"a":"x","b":3}']);
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/validation_error/);
    expect(wrong.stderr).toMatch(/arguments\.a: /);
    expect(wrong.stderr).toMatch(/see (npx )?adjutant get [0-9a-v]{23} [0-9a-f-]{36}/);
    const json = await cli('call', 'peer.fail', '{"text":"no"}', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      error: { type: 'tool_error', message: 'no' },
    });
  });

  test('takes arguments key=value with the types of the tool’s schema', async () => {
    expect((await cli('call', 'peer.add', 'a=2', 'b=3', '--json')).stdout).toContain('{"sum":5}');
    const wrong = await cli('call', 'peer.add', 'a=two', 'b=3');
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toMatch(/"a" must be of type (number|integer), not "two"/);
  });

  test('detached prints the ids, and its tag finds it', async () => {
    const detached = await cli(
      'call',
      'peer.echo',
      '--detach',
      '--tag',
      'apart',
      '--request',
      'apart',
      '--web',
    );
    expect(detached).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^accepted apart\/\S+\n$/) as string,
    });
    expect(detached.stderr).toContain(`console ${service.url}/console/requests/apart`);
    const found = ['requests', '--tag', 'apart', '--json'];
    await eventually(async () => (await cli(...found)).stdout).toContain('"request_id":"apart"');
  });

  test('of a tool that its server does not have is refused with close names, and leaves nothing', async () => {
    const unknown = await cli('call', 'peer.ad', '{}', '--request', 'mistyped');
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(/error unknown_tool: the server "peer" has no tool "ad"\./);
    expect(unknown.stderr).toMatch(/fix Did you mean peer\.add or /);
    expect((await cli('get', 'mistyped')).stderr).toContain('not_found');
    const json = await cli('call', 'peer.ad', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, error: { type: 'unknown_tool' } });
  });

  test('passes on its limits and retries', async () => {
    const limits = ['--timeout-ms', '50', '--max-retries', '1', '--effect', 'read'];
    const { code, stderr } = await cli('call', 'peer.wait', ...limits);
    expect(code).toBe(1);
    expect(stderr).toMatch(/retry 1\/1/);
    expect(stderr).toMatch(/timeout/);
  });

  test('shows progress in plain lines where there is no terminal', async () => {
    const { stdout, stderr } = await run(['call', 'peer.beat', '{"beats":2,"everyMs":5}']);
    expect(stdout).toBe('done\n');
    expect(stderr).toMatch(/^peer\.beat running$/m);
    expect(stderr).not.toContain('\u001B');
  });

  test('interrupted cancels the call, and exits 130', async () => {
    const running = start(['call', 'peer.wait', '--request', 'interrupted', '--id', 'a']);
    await running.said(/running/);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/failed cancelled: .*interrupted at the terminal/);
    expect((await cli('get', 'interrupted', 'a')).stdout).toMatch(/status\s+failed/);
  });

  test('writes the whole answer into a file, also when its signal holds only the beginning', async () => {
    const args = ['call', 'peer.large', '{"bytes":2000000}'];
    const { code, stdout } = await run([...args, '--request', 'large', '--id', 'a']);
    expect(code).toBe(0);
    expect(stdout).toBe(`${'x'.repeat(2_000_000)}\n`);
    const payload = await run(['payload', 'large', 'a']);
    expect(payload).toMatchObject({ code: 0, stdout });
    const json = JSON.parse((await cli(...args, '--json')).stdout) as { payload: unknown };
    expect(JSON.stringify(json.payload).length).toBeGreaterThan(2_000_000);
  });
});

describe('schedule create', () => {
  const create = async (id: string, ...what: string[]): Promise<Run> =>
    cli('schedule', 'create', id, '--cron', '0 0 1 1 *', ...what);

  test('warns of a tool and of an agent that nobody serves, and makes the schedule', async () => {
    const tool = await create('wrong-tool', '--tool', 'peer.ad');
    expect(tool).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^wrong-tool fires next/) as string,
    });
    expect(tool.stderr).toMatch(/warning no tool "peer\.ad" is known now.*\n.*fix Did you mean peer\.add/);
    const agent = await create('wrong-agent', '--agent', 'defalt', '--query', 'x');
    expect(agent.stderr).toMatch(/warning no agent "defalt" is known now.*\n.*fix Did you mean default\?/);
  });

  test('has no warning for what is served', async () => {
    expect((await create('right-tool', '--tool', 'peer.add')).stderr).not.toContain('warning');
    const agent = await create('right-agent', '--agent', 'default', '--query', 'x');
    expect(agent).toMatchObject({ code: 0, stderr: expect.not.stringContaining('warning') as string });
  });
});

describe('a single role without REDIS_URL', () => {
  test('uses the private Redis of the service in the same folder', async () => {
    const worker = start(['worker']);
    await worker.said(/redis: the private one of .*up.* in this folder/);
    await worker.said(/^adjutant works$/m);
    expect((await cli('workers', '--json')).stdout.trim().split('\n')).toHaveLength(2);
    worker.child.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });
});

describe('submit, tail and get', () => {
  test('take a directive from stdin through to its signals', async () => {
    const directive = { type: 'tool_exec', tool_name: 'peer.echo', request_id: 'chain', id: 'a' };
    const submitted = await run(['submit', '-'], { stdin: JSON.stringify(directive) });
    expect(submitted).toMatchObject({ code: 0 });
    expect(submitted.stdout).toMatch(/^a\s+tool_exec\s+accepted\s+tool\.peer$/m);
    const tail = await run(['tail', 'chain']);
    expect(tail.code).toBe(0);
    expect(tail.stdout.trim().split('\n')).toHaveLength(2);
    const later = await cli('tail', 'chain', '--after', '1', '--json');
    expect(JSON.parse(later.stdout)).toMatchObject({ sequence: 2, type: 'ai.tool.result' });
    expect((await run(['get', 'chain'])).stdout).toMatch(/closed/);
    expect(JSON.parse((await cli('get', 'chain', 'a', '--json')).stdout)).toMatchObject({
      id: 'a',
      status: 'succeeded',
    });
  });

  test('take JSON lines from a file as one batch', async () => {
    const file = join(service.home, 'batch.jsonl');
    const lines = ['a', 'b'].map((id) =>
      JSON.stringify({ type: 'tool_exec', tool_name: 'peer.echo', request_id: 'lines', id }),
    );
    await writeFile(file, `${lines.join('\n')}\n\n`);
    const { code, stdout } = await cli('submit', file, '--json');
    expect(code).toBe(0);
    const waited = await cli('submit', file, '--wait', '--json');
    const ends = waited.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(ends.map(({ type }) => type)).toEqual(['ai.tool.result', 'ai.tool.result']);
    expect(JSON.parse(stdout)).toMatchObject({ request_id: 'lines', directives: [{ id: 'a' }, { id: 'b' }] });
  });

  test('name the faulty line, file or place', async () => {
    const file = join(service.home, 'bad.jsonl');
    await writeFile(file, '{"type":"tool_exec"}\n{oops\n');
    const badLine = await cli('submit', file);
    expect(badLine).toMatchObject({ code: 2 });
    expect(badLine.stderr).toContain('bad.jsonl:2');
    expect((await cli('submit', 'no-such-file')).code).toBe(2);
    await writeFile(file, '{"type":"tool_exec","tool_name":"peer.echo","colour":1}');
    const badKey = await cli('submit', file);
    expect(badKey.code).toBe(2);
    expect(badKey.stderr).toContain('colour');
  });
});

test.each([
  [['get', 'none']],
  [['get', 'chain', 'none']],
  [['tail', 'none']],
  [['cancel', 'none']],
  [['cancel', 'chain', 'none']],
])('%j of what does not exist exits 1', async (args) => {
  const { code, stderr } = await cli(...args);
  expect(code).toBe(1);
  expect(stderr).toMatch(/not_found/);
});

test('the lists show tools and lanes', async () => {
  expect((await cli('complete', 'tools')).stdout).toMatch(/^peer\.echo$/m);
  expect((await run(['tools'])).stdout).toMatch(/^peer\.echo\s+read/m);
  expect((await cli('tools', 'peer')).stdout).toMatch(/^peer\.echo\s+read/m);
  const unknown = await cli('tools', 'pear');
  expect(unknown).toMatchObject({ code: 1, stdout: '' });
  expect(unknown.stderr).toContain('There are peer.');
  expect((await run(['lanes'])).stdout).toMatch(/^tool\.peer\s/m);
  const lanes = (await cli('lanes', '--json')).stdout.trim().split('\n');
  expect(lanes.map((line) => (JSON.parse(line) as { name: string }).name)).toContain('tool.peer');
});

test('the list of requests shows what failed, and is whole again after reindex', async () => {
  const failing = ['call', 'peer.fail', '{"text":"no"}', '--request', 'listed', '--id', 'a'];
  expect((await cli(...failing)).code).toBe(1);
  const chosen = ['requests', '--error-type', 'tool_error', '--q', 'listed'];
  await eventually(async () => (await cli(...chosen)).stdout).toMatch(/ failed\s+listed\s+peer\.fail\s/);
  const { code, stdout } = await run([...chosen, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ request_id: 'listed', status: 'failed', tools: ['peer.fail'] });
  const rebuilt = await run(['reindex']);
  expect(rebuilt).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+ requests found, \d+ listed$/m),
  });
  expect((await cli(...chosen)).stdout).toContain('listed');
});

describe('cancel', () => {
  test('reports its effect, and the result names the reason', async () => {
    await waiting(service.url, 'cut');
    const asked = await run(['cancel', 'cut', 'a', '--reason', 'no longer needed']);
    expect(asked).toMatchObject({ code: 0, stdout: 'a  its attempt is being aborted\n' });
    const tail = await cli('tail', 'cut');
    expect(tail.code).toBe(0);
    expect(tail.stdout).toContain('(no longer needed)');
    const { stdout } = await cli('get', 'cut', 'a', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'failed',
      result: { data: { result: { error: { type: 'cancelled', details: { reason: 'no longer needed' } } } } },
    });
    expect((await cli('get', 'cut')).stdout).toMatch(/errors\n\s+a\s+cancelled: .*no longer needed/);
    expect((await cli('cancel', 'cut', 'a')).stdout).toMatch(/^a\s+had ended before$/m);
  });

  test('of a request cancels all of it', async () => {
    await waiting(service.url, 'cut-all');
    const { code, stdout } = await cli('cancel', 'cut-all', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      request_id: 'cut-all',
      directives: [{ id: 'a', status: 'requested' }],
    });
    expect((await cli('tail', 'cut-all')).code).toBe(0);
  });
});

describe('dead', () => {
  const fail = async (request: string): Promise<void> => {
    const args = ['call', 'peer.fail', '{"text":"no luck"}', '--request', request, '--id', 'a'];
    expect((await cli(...args)).code).toBe(1);
    await eventually(async () => (await cli('dead')).stdout).toContain(request);
  };

  test('lists failed directives, and redrives it by name', async () => {
    await fail('lost');
    const { code, stdout } = await run(['dead', 'list', '--error-type', 'tool_error']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\S+ \S+\s+lost\s+a\s+peer\.fail\s+1\s+tool_error: no luck$/m);
    expect((await cli('dead', 'list', '--lane', 'tool.nobody')).stdout).toBe('');
    const redriven = await run(['dead', 'redrive', 'lost/a']);
    expect(redriven).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^lost\/a\s+→\s+a\.redrive-1$/m),
    });
    expect((await cli('tail', 'lost')).stdout).toContain('a.redrive-1');
    expect((await cli('dead', 'redrive', 'lost/a')).stderr).toContain('no dead letter: lost/a');
  });

  test('redrives all of a filter, and everything only on explicit request', async () => {
    await fail('lost-too');
    const nothing = await cli('dead', 'redrive');
    expect(nothing.code).toBe(2);
    expect(nothing.stderr).toMatch(/fix .*--lane or --error-type, or use --all/);
    expect((await cli('dead', '--json')).stdout).toContain('lost-too');
    const { code, stdout } = await cli('dead', 'redrive', '--error-type', 'tool_error');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^lost-too\/a\s+→\s+a\.redrive-1$/m);
    await cli('tail', 'lost-too');
    expect((await cli('dead', 'redrive', '--all')).code).toBe(0);
  });
});

describe('an invalid command line', () => {
  const expectUsage = ({ code, stdout, stderr }: Run): void => {
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toBe('');
    expect(stderr).not.toMatch(/^\s+at /m);
  };

  test.each([
    [['call']],
    [['call', 'peer.echo', '{oops']],
    [['call', 'peer.echo', '[1]']],
    [['call', 'peer.echo', '{}', '--timeout-ms', 'soon']],
    [['call', 'peer.echo', '{}', '--effect', 'maybe']],
    [['tail', 'x', '--after', '-1']],
    [['tools', '--colour']],
    [['tools', '--url', 'nowhere']],
    [['dead', 'redrive', 'lost']],
  ])('%j exits 2 with the reason', async (args) => expectUsage(await cli(...args)));

  test('exits 2 as a process, too', async () => expectUsage(await run(['launch'])));

  test.each([
    [['call', 'peer.echo', '{oops'], 'usage'],
    [['call', 'peer.echo', '--effect', 'maybe'], 'usage'],
    [['get', 'none'], 'not_found'],
    [['tools', '--url', 'http://127.0.0.1:1'], 'unavailable'],
  ])('%j is reported as JSON with --json, as %s', async (args, type) => {
    const { stdout } = await cli(...args, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { type } });
  });

  test('an invalid URL is a usage error, not an absent service', async () => {
    const { code, stderr } = await runCommand(['tools'], '127.0.0.1:7420');
    expect(code).toBe(2);
    expect(stderr).toMatch(/ADJUTANT_URL "127\.0\.0\.1:7420" is not a URL/);
  });

  test('--help and --version exit 0', async () => {
    expect(await run(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    const { code, stdout } = await run(['--help']);
    expect(code).toBe(0);
    for (const verb of 'up api worker call submit tail get tools cancel dead lanes doctor init'.split(' '))
      expect(stdout).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
  });
});

describe('an unreachable service', () => {
  const expectFix = ({ code, stderr }: Run): void => {
    expect(code).toBe(3);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringContaining('error'),
      expect.stringContaining('adjutant up'),
    ]);
  };
  const nowhere = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`;

  test.each([[['call', 'a.b']], [['tail', 'x']], [['get', 'x']], [['lanes']]])(
    '%j exits 3 with a fix',
    async (args) => expectFix(await runCommand(args, await nowhere())),
  );

  test('exits 3 as a process, too', async () =>
    expectFix(await run(['tools'], { env: { ADJUTANT_URL: await nowhere() } })));
});

describe('doctor', () => {
  test('finds no fault in a working service', async () => {
    const { code, stdout } = await run(['doctor']);
    expect(stdout).not.toContain('✗');
    expect(code).toBe(0);
    const subjects = ['configuration', 'redis', 'eviction', 'persistence', 'mcp peer', 'service', 'workers'];
    for (const subject of ['node', ...subjects]) expect(stdout).toMatch(new RegExp(`^✓ ${subject}\\b`, 'm'));
    expect(stdout).toMatch(/mcp peer {2}connected over stdio in \d+ ms, \d+ tools listed in \d+ ms/);
  });

  test('names each fault and its fix, and exits 1', async () => {
    await using weak = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const env = { REDIS_URL: weak.url, ADJUTANT_URL: nobody, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: nobody };
    const cwd = await folder({ 'adjutant.json': { mcpServers: { lame: { command: 'no-such-program' } } } });
    const { code, stdout } = await run(['doctor', '--json'], { cwd, env });
    expect(code).toBe(1);
    const findings = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { subject: string; ok: boolean; fix: string | null });
    const faults = findings.filter(({ ok }) => !ok);
    const subjects = ['eviction', 'persistence', 'mcp lame', 'traces', 'service'];
    expect(faults.map(({ subject }) => subject)).toEqual(subjects);
    for (const { fix } of faults) expect(fix).not.toBeNull();
    expect(faults[0]?.fix).toContain('maxmemory-policy noeviction');
    expect(faults[1]?.fix).toContain('appendonly yes');
  });

  test('names the faults of the configuration, and tells a service without Redis from an absent service', async () => {
    await using fragile = await startRedis();
    const sound = await folder({ 'adjutant.json': {} });
    const cwd = await folder({ 'adjutant.json': { mcpServers: { peer: { comand: 'node' } } } });
    const api = startCli(['api', '--port', '0'], { cwd: sound, env: { REDIS_URL: fragile.url } });
    const address = await api.said(URL_OF_A_SERVICE);
    await fragile.kill9();
    // As the note of an `up` says it whose private Redis has just ended.
    const owner = { pid: api.child.pid, startedAt: 0 };
    await mkdir(join(cwd, '.adjutant/redis'), { recursive: true });
    await writeFile(join(cwd, '.adjutant/redis/owner.json'), JSON.stringify(owner));
    const { code, stdout } = await run(['doctor'], { cwd, env: { ADJUTANT_URL: address } });
    api.child.kill('SIGTERM');
    await api.ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ configuration.*mcpServers\.peer/);
    expect(stdout).toMatch(/✗ redis {2}the private one of the service in this folder does not answer/);
    expect(stdout).toMatch(/fix {2}Wait some seconds: .* its log says why: \S+\/redis\.log\. Then stop/);
    expect(stdout).toMatch(/✗ service {2}at \S+ answered 503 in \d+ ms; redis: out of reach/);
    expect(stdout).not.toContain('Start it with `adjutant up`');
  });
});

describe('init', () => {
  test('writes a configuration that is accepted into a project, keeps its own files, and never overwrites others', async () => {
    const cwd = await folder({ 'package.json': { type: 'commonjs' } });
    const first = await run(['init'], { cwd });
    expect(first).toMatchObject({ code: 0, stdout: 'wrote adjutant.json\nwrote examples/hello.txt\n' });
    const doctor = startCli(['doctor'], { cwd });
    await doctor.said(/✓ configuration/);
    // The sample names packages that it would wait for.
    doctor.child.kill('SIGINT');
    expect((await doctor.ended).code).toBe(130);
    const kept = 'kept adjutant.json\nkept examples/hello.txt\n';
    expect(await run(['init', '--template', 'client'], { cwd })).toMatchObject({
      code: 0,
      stdout: `${kept}wrote client.mts\n`,
    });
    await writeFile(join(cwd, 'adjutant.json'), '{}');
    const again = await run(['init'], { cwd });
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('other files are here already under adjutant.json');
    expect(await readFile(join(cwd, 'adjutant.json'), 'utf8')).toBe('{}');
  });
});

test('dev restarts the service when its configuration changes, and waits for the next change where it is wrong', async () => {
  const cwd = await folder({ 'adjutant.json': {} });
  const write = async (content: object): Promise<void> =>
    writeFile(join(cwd, 'adjutant.json'), JSON.stringify(content));
  const dev = startCli(['dev', '--port', '0'], { cwd });
  await dev.said(URL_OF_A_SERVICE);
  await write({ agents: { second: { description: 'Added while it runs' } } });
  await dev.said(/adjutant\.json changed: restarting/);
  const url = (await dev.said(/listens on \S+[\s\S]*listens on \S+/)).split(' ').at(-1) ?? '';
  await eventually(async () => (await runCommand(['agents'], url)).stdout).toMatch(/^second\s/m);
  await write({ agnets: {} });
  await dev.said(/agnets is not a known key[\s\S]*the next change of a file starts it again/);
  dev.child.kill('SIGTERM');
  expect((await dev.ended).code).toBe(0);
});

async function redisPidIn(cwd: string): Promise<number> {
  const pid = Number(await readFile(join(cwd, '.adjutant/redis/redis.pid'), 'utf8'));
  if (!(pid > 1)) throw new Error('Its pid is not written yet.');
  return pid;
}

describe('a stop', () => {
  test('that takes long is forced by a later signal', async () => {
    await using redis = await startRedis();
    const cwd = await folder({ 'adjutant.json': { ...CONFIG, worker: { drain_ms: 60_000 } } });
    const running = startCli(['up', '--port', '0'], { cwd, env: { REDIS_URL: redis.url } });
    // A call that does not end by itself.
    await waiting(await running.said(URL_OF_A_SERVICE), 'long');
    running.child.kill('SIGTERM');
    await running.said(/stopping/);
    const connection = connectRedis(redis.url, 'commands');
    const known = createWorkers(connection, keySpace());
    const shown = async () =>
      (await listWorkers(known)).workers.map(({ state, running: runs }) => [state, runs]);
    await eventually(shown).toEqual([['stopping', 1]]);
    await closeRedis(connection);
    const insisting = setInterval(() => running.child.kill('SIGTERM'), 50);
    await running.ended;
    clearInterval(insisting);
    expect(running.child.signalCode).toBe('SIGTERM');
  });

  test('during the start ends the private Redis, too, and leaves the folder free', async () => {
    const cwd = await folder({ 'adjutant.json': CONFIG });
    const running = startCli(['up', '--port', '0'], { cwd });
    const redisPid = await untilHolds(() => redisPidIn(cwd));
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(() => process.kill(redisPid, 0)).toThrow();
    await expect(readFile(join(cwd, '.adjutant/redis/owner.json'))).rejects.toThrow('ENOENT');
  });
});

describe('a folder', () => {
  test('a second up in one folder is refused', async () => {
    const { code, stderr } = await run(['up', '--port', '0']);
    expect(code).toBe(1);
    expect(stderr).toContain('already runs in this folder');
    expect(stderr).toContain(`Use it at ${service.url}, stop it`);
  });

  /** Also when nobody has asked yet how it ended: it was nobody's child any more. */
  function hasEnded(pid: number): boolean {
    try {
      process.kill(pid, 0);
      return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return true;
    }
  }

  test('up starts its Redis again when it is killed, and takes over that of a killed up, with the accepted work', async () => {
    const cwd = await folder({ 'adjutant.json': CONFIG });
    const first = startCli(['up', '--port', '0'], { cwd });
    const firstUrl = await first.said(URL_OF_A_SERVICE);
    const note = { type: 'emit_tool_error', tool_name: 'peer.echo', error: 'e', request_id: 'kept' };
    expect((await post(`${firstUrl}/v1/directives`, note)).status).toBe(202);
    process.kill(await redisPidIn(cwd), 'SIGKILL');
    await first.said(/warning The private Redis ended \(signal SIGKILL\) and runs again, after [\d.]+ s/);
    await eventually(async () => (await runCommand(['get', 'kept'], firstUrl)).code).toBe(0);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = startCli(['up', '--port', '0'], { cwd });
    const secondUrl = await second.said(URL_OF_A_SERVICE);
    expect((await runCommand(['get', 'kept'], secondUrl)).code).toBe(0);
    const redisPid = await redisPidIn(cwd);
    second.child.kill('SIGINT');
    expect((await second.ended).code).toBe(0);
    await eventually(() => hasEnded(redisPid)).toBe(true);
  });
});

describe('mcp', () => {
  test('answers what was asked before its input ended, and reports that its server is not known', async () => {
    const clientInfo = { name: 'x', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const asked = [
      { id: 1, method: 'initialize', params },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list' },
    ];
    const stdin = asked.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
    const { code, stdout, stderr } = await run(['mcp', '--server', 'nosuch'], { stdin });
    expect(code).toBe(0);
    expect(stdout).toMatch(/"id":1[\s\S]*"id":2/);
    expect(stderr).toContain(
      '--server nosuch: No worker serves an MCP server of this name now. Known servers: peer.',
    );
  });

  test('without a service or any input ends, and reports how to start a service', async () => {
    const env = { ...process.env, ADJUTANT_URL: 'http://127.0.0.1:9' };
    const child = spawn(process.execPath, [PROGRAM, 'mcp'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    endWithTests(child);
    const closed = once(child, 'close').then(([code]) => code as number | null);
    const { code, stderr } = await watchOutput(child, closed).ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/No service answers at http:\/\/127\.0\.0\.1:9\. Start it with `adjutant up`/);
  });
});
