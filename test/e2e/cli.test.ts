/** The command line as a person or a script uses it: the real program, its output, its exit codes.
 *  It must not import the program: processes only. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { cliFolder, type Env, type Run, type Running, startCli as start } from '../support/cli.ts';
import { freePort } from '../support/process.ts';
import { startRedis } from '../support/redis.ts';

const PEER = fileURLToPath(new URL('../support/servers/legacy-peer.ts', import.meta.url));

const folders: string[] = [];

async function folder(files: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const path = await cliFolder(files);
  folders.push(path);
  return path;
}

const CONFIG = {
  mcpServers: { peer: { command: process.execPath, args: [PEER, 'stdio'] } },
  worker: { drain_ms: 0 },
};

let home: string;
let up: Running;
let url: string;

async function run(
  args: readonly string[],
  options: { cwd?: string; env?: Env; stdin?: string } = {},
): Promise<Run> {
  const env = { ADJUTANT_URL: url, ...options.env };
  return start(args, { cwd: home, ...options, env }).ended;
}

beforeAll(async () => {
  home = await folder({ 'adjutant.json': CONFIG });
  up = start(['up', '--port', '0'], { cwd: home });
  url = (await up.said(/http:\/\/127\.0\.0\.1:\d+/)) ?? '';
  await vi.waitFor(async () => expect((await run(['tools'])).stdout).toContain('peer.add'), 20_000);
});

afterAll(async () => {
  up?.child.kill('SIGTERM');
  expect((await up?.ended)?.code).toBe(0);
  for (const path of folders) await rm(path, { recursive: true, force: true });
});

describe('call', () => {
  test('prints the tool’s answer', async () => {
    expect(await run(['call', 'peer.echo', '{"a":1}'])).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
  });

  test('prints structured content as JSON', async () => {
    const { code, stdout } = await run(['call', 'peer.add', '{"a":2,"b":3}']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ sum: 5 });
  });

  test('prints the envelope with --json, wherever it stands', async () => {
    const envelope = { ok: true, payload: { sum: 5 }, effects: [] };
    expect(JSON.parse((await run(['call', 'peer.add', '{"a":2,"b":3}', '--json'])).stdout)).toEqual(envelope);
    expect(JSON.parse((await run(['--json', 'call', 'peer.add', '{"a":2,"b":3}'])).stdout)).toEqual(envelope);
  });

  test('exits 1 with the error and its place when the directive fails', async () => {
    const wrong = await run(['call', 'peer.add', '{"a":"x","b":3}']);
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/validation_error/);
    expect(wrong.stderr).toMatch(/arguments\.a: /);
    const unknown = await run(['call', 'peer.ad', '{}']);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(/unknown_tool/);
    expect(unknown.stderr).toMatch(/fix Did you mean peer\.add or /);
    expect(unknown.stderr).toMatch(/see (npx )?adjutant get [0-9a-f-]{36} [0-9a-f-]{36}/);
    const json = await run(['call', 'peer.fail', '{"text":"no"}', '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      error: { type: 'tool_error', message: 'no' },
    });
  });

  test('passes on its limits and retries', async () => {
    const { code, stderr } = await run([
      'call',
      'peer.wait',
      '--timeout-ms',
      '50',
      '--max-retries',
      '1',
      '--effect',
      'read',
    ]);
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
    const running = start(['call', 'peer.wait', '--request', 'interrupted', '--id', 'a'], {
      cwd: home,
      env: { ADJUTANT_URL: url },
    });
    await running.said(/running/);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/failed cancelled: .*interrupted at the terminal/);
    expect((await run(['get', 'interrupted', 'a'])).stdout).toMatch(/status\s+failed/);
  });

  test('writes the whole answer into a file, also when its signal holds only the beginning', async () => {
    const args = ['call', 'peer.large', '{"bytes":2000000}'];
    const { code, stdout } = await run([...args, '--request', 'large', '--id', 'a']);
    expect(code).toBe(0);
    expect(stdout).toBe(`${'x'.repeat(2_000_000)}\n`);
    const payload = await run(['payload', 'large', 'a']);
    expect(payload).toMatchObject({ code: 0, stdout });
    const json = JSON.parse((await run([...args, '--json'])).stdout) as { payload: unknown };
    expect(JSON.stringify(json.payload).length).toBeGreaterThan(2_000_000);
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
    const later = await run(['tail', 'chain', '--after', '1', '--json']);
    expect(JSON.parse(later.stdout)).toMatchObject({ sequence: 2, type: 'ai.tool.result' });
    expect((await run(['get', 'chain'])).stdout).toMatch(/closed/);
    expect(JSON.parse((await run(['get', 'chain', 'a', '--json'])).stdout)).toMatchObject({
      id: 'a',
      status: 'succeeded',
    });
  });

  test('take JSON lines from a file as one batch', async () => {
    const file = join(home, 'batch.jsonl');
    const lines = ['a', 'b'].map((id) =>
      JSON.stringify({ type: 'tool_exec', tool_name: 'peer.echo', request_id: 'lines', id }),
    );
    await writeFile(file, `${lines.join('\n')}\n\n`);
    const { code, stdout } = await run(['submit', file, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ request_id: 'lines', directives: [{ id: 'a' }, { id: 'b' }] });
  });

  test('name the faulty line, file or place', async () => {
    const badLine = await run(['submit', '-'], { stdin: '{"type":"tool_exec"}\n{oops\n' });
    expect(badLine).toMatchObject({ code: 2 });
    expect(badLine.stderr).toContain('-:2');
    expect((await run(['submit', 'no-such-file'])).code).toBe(2);
    const badKey = await run(['submit', '-'], {
      stdin: '{"type":"tool_exec","tool_name":"peer.echo","colour":1}',
    });
    expect(badKey.code).toBe(2);
    expect(badKey.stderr).toContain('colour');
  });

  test('exit 1 for what does not exist', async () => {
    for (const args of [
      ['get', 'none'],
      ['get', 'chain', 'none'],
      ['tail', 'none'],
    ]) {
      const { code, stderr } = await run(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/not_found/);
    }
  });
});

describe('the lists', () => {
  test('show tools and lanes', async () => {
    expect((await run(['tools'])).stdout).toMatch(/^peer\.echo\s+read/m);
    expect((await run(['tools', 'peer'])).stdout).toMatch(/^peer\.echo\s+read/m);
    const unknown = await run(['tools', 'pear']);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('There are peer.');
    expect((await run(['lanes'])).stdout).toMatch(/^tool\.peer\s/m);
    expect(JSON.parse((await run(['lanes', '--json'])).stdout)).toMatchObject({
      lanes: expect.arrayContaining([expect.objectContaining({ name: 'tool.peer' })]) as unknown,
    });
  });
});

describe('cancel', () => {
  async function waiting(request: string): Promise<void> {
    const stdin = JSON.stringify({ type: 'tool_exec', tool_name: 'peer.wait', request_id: request, id: 'a' });
    expect((await run(['submit', '-'], { stdin })).code).toBe(0);
    const tail = start(['tail', request], { cwd: home, env: { ADJUTANT_URL: url } });
    await tail.said(/ai\.tool\.started/);
    tail.child.kill('SIGINT');
    await tail.ended;
  }

  test('reports its effect, and the result names the reason', async () => {
    await waiting('cut');
    const asked = await run(['cancel', 'cut', 'a', '--reason', 'no longer needed']);
    expect(asked).toMatchObject({ code: 0, stdout: 'a  its attempt is being aborted\n' });
    expect((await run(['tail', 'cut'])).code).toBe(0);
    const { stdout } = await run(['get', 'cut', 'a', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'failed',
      result: { data: { result: { error: { type: 'cancelled', details: { reason: 'no longer needed' } } } } },
    });
    expect((await run(['tail', 'cut'])).stdout).toContain('(no longer needed)');
    expect((await run(['get', 'cut'])).stdout).toMatch(/errors\n\s+a\s+cancelled: .*no longer needed/);
    expect((await run(['cancel', 'cut', 'a'])).stdout).toMatch(/^a\s+had ended before$/m);
  });

  test('of a request cancels all of it', async () => {
    await waiting('cut-all');
    const { code, stdout } = await run(['cancel', 'cut-all', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      request_id: 'cut-all',
      directives: [{ id: 'a', status: 'requested' }],
    });
    expect((await run(['tail', 'cut-all'])).code).toBe(0);
  });

  test('of what does not exist exits 1', async () => {
    for (const args of [
      ['cancel', 'none'],
      ['cancel', 'cut', 'none'],
    ]) {
      const { code, stderr } = await run(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/not_found/);
    }
  });
});

describe('dead', () => {
  const fail = async (request: string): Promise<void> => {
    const args = ['call', 'peer.fail', '{"text":"no luck"}', '--request', request, '--id', 'a'];
    expect((await run(args)).code).toBe(1);
    await vi.waitFor(async () => expect((await run(['dead'])).stdout).toContain(request), 20_000);
  };

  test('lists failed directives, and redrives it by name', async () => {
    await fail('lost');
    const { code, stdout } = await run(['dead', 'list', '--error-type', 'tool_error']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^lost\s+a\s+peer\.fail\s+tool_error: no luck\s+1×/m);
    expect((await run(['dead', 'list', '--lane', 'tool.nobody'])).stdout).toBe('');
    const redriven = await run(['dead', 'redrive', 'lost/a']);
    expect(redriven).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^lost\/a\s+→\s+a\.redrive-1$/m),
    });
    expect((await run(['tail', 'lost'])).stdout).toContain('a.redrive-1');
    expect((await run(['dead', 'redrive', 'lost/a'])).stderr).toContain('no dead letter: lost/a');
  });

  test('redrives all of a filter, and everything only on explicit request', async () => {
    await fail('lost-too');
    const nothing = await run(['dead', 'redrive']);
    expect(nothing.code).not.toBe(0);
    expect((await run(['dead', '--json'])).stdout).toContain('lost-too');
    const { code, stdout } = await run(['dead', 'redrive', '--error-type', 'tool_error']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^lost-too\/a\s+→\s+a\.redrive-1$/m);
    await run(['tail', 'lost-too']);
    expect((await run(['dead', 'redrive', '--all'])).code).toBe(0);
  });

  test('names the options when nothing is selected', async () => {
    const { code, stderr } = await run(['dead', 'redrive']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/fix .*--lane or --error-type, or use --all/);
  });

  test('refuses an invalid name', async () => {
    expect((await run(['dead', 'redrive', 'lost'])).code).toBe(2);
  });
});

describe('an invalid command line', () => {
  test.each([
    [['launch']],
    [['call']],
    [['call', 'peer.echo', '{oops']],
    [['call', 'peer.echo', '[1]']],
    [['call', 'peer.echo', '{}', '--timeout-ms', 'soon']],
    [['call', 'peer.echo', '{}', '--effect', 'maybe']],
    [['tail', 'x', '--after', '-1']],
    [['tools', '--colour']],
    [['tools', '--url', 'nowhere']],
  ])('%j exits 2 with the reason', async (args) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toBe('');
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('is reported as JSON with --json', async () => {
    const type = async (args: readonly string[], env: Env = {}): Promise<unknown> => {
      const { stdout } = await run([...args, '--json'], { env });
      return (JSON.parse(stdout) as { ok: boolean; error: { type: string } }).error.type;
    };
    expect(await type(['call', 'peer.echo', '{oops'])).toBe('usage');
    expect(await type(['call', 'peer.echo', '--effect', 'maybe'])).toBe('usage');
    expect(await type(['get', 'none'])).toBe('not_found');
    expect(await type(['tools'], { ADJUTANT_URL: `http://127.0.0.1:${await freePort()}` })).toBe(
      'unavailable',
    );
  });

  test('an invalid URL is a usage error, not an absent service', async () => {
    const { code, stderr } = await run(['tools'], { env: { ADJUTANT_URL: '127.0.0.1:7420' } });
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
    for (const verb of [
      'up',
      'api',
      'worker',
      'call',
      'submit',
      'tail',
      'get',
      'tools',
      'cancel',
      'dead',
      'lanes',
      'doctor',
      'init',
    ]) {
      expect(stdout).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
    }
  });
});

describe('an unreachable service', () => {
  test.each([[['call', 'a.b']], [['tail', 'x']], [['get', 'x']], [['tools']], [['lanes']]])(
    '%j exits 3 with a fix',
    async (args) => {
      const { code, stderr } = await run(args, {
        env: { ADJUTANT_URL: `http://127.0.0.1:${await freePort()}` },
      });
      expect(code).toBe(3);
      expect(stderr.trim().split('\n')).toEqual([
        expect.stringContaining('error'),
        expect.stringContaining('adjutant up'),
      ]);
    },
  );
});

describe('doctor', () => {
  test('finds no fault in a working service', async () => {
    const { code, stdout } = await run(['doctor']);
    expect(stdout).not.toContain('✗');
    expect(code).toBe(0);
    for (const subject of [
      'node',
      'configuration',
      'redis',
      'eviction',
      'persistence',
      'mcp peer',
      'service',
      'workers',
    ]) {
      expect(stdout).toMatch(new RegExp(`^✓ ${subject}\\b`, 'm'));
    }
    expect(stdout).toMatch(/mcp peer {2}connected over stdio in \d+ ms, \d+ tools listed in \d+ ms/);
  });

  test('names each fault and its fix, and exits 1', async () => {
    await using weak = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const env = { REDIS_URL: weak.url, ADJUTANT_URL: `http://127.0.0.1:${await freePort()}` };
    const cwd = await folder({ 'adjutant.json': { mcpServers: { lame: { command: 'no-such-program' } } } });
    const { code, stdout } = await run(['doctor', '--json'], { cwd, env });
    expect(code).toBe(1);
    const findings = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { subject: string; ok: boolean; fix: string | null });
    const faults = findings.filter(({ ok }) => !ok);
    expect(faults.map(({ subject }) => subject)).toEqual(['eviction', 'persistence', 'mcp lame', 'service']);
    for (const { fix } of faults) expect(fix).not.toBeNull();
  });

  test('tells a service without Redis from an absent service', async () => {
    await using fragile = await startRedis();
    const cwd = await folder({ 'adjutant.json': {} });
    const api = start(['api', '--port', '0'], { cwd, env: { REDIS_URL: fragile.url } });
    const address = (await api.said(/http:\/\/127\.0\.0\.1:\d+/)) ?? '';
    await fragile.kill9();
    const env = { ADJUTANT_URL: address, REDIS_URL: fragile.url };
    const { code, stdout } = await run(['doctor'], { cwd, env });
    api.child.kill('SIGTERM');
    await api.ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ service {2}at \S+ answered 503 in \d+ ms; redis: out of reach/);
    expect(stdout).not.toContain('Start it with `adjutant up`');
  });

  test('names the faults of the configuration', async () => {
    const cwd = await folder({ 'adjutant.json': { mcpServers: { peer: { comand: 'node' } } } });
    const { code, stdout } = await run(['doctor'], { cwd });
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ configuration.*mcpServers\.peer/);
  });
});

describe('init', () => {
  test('writes a configuration that is accepted, and never overwrites it', async () => {
    const cwd = await folder();
    expect((await run(['init'], { cwd })).code).toBe(0);
    const written = await readFile(join(cwd, 'adjutant.json'), 'utf8');
    expect(JSON.parse(written)).toHaveProperty('mcpServers');
    const doctor = start(['doctor'], { cwd });
    await doctor.said(/✓ configuration/);
    // The sample names packages that it would wait for.
    doctor.child.kill('SIGINT');
    expect((await doctor.ended).code).toBe(130);
    const again = await run(['init'], { cwd });
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('already exists here');
    expect(await readFile(join(cwd, 'adjutant.json'), 'utf8')).toBe(written);
  });
});

describe('a stop', () => {
  const slow = { ...CONFIG, worker: { drain_ms: 60_000 } };

  /** `up` on a Redis of the test, with a call under way that does not end by itself. */
  async function upAtWork(redisUrl: string): Promise<Running> {
    const cwd = await folder({ 'adjutant.json': slow });
    const running = start(['up', '--port', '0'], {
      cwd,
      env: { REDIS_URL: redisUrl, ADJUTANT_PREFIX: 'stop' },
    });
    const own = await running.said(/http:\/\/127\.0\.0\.1:\d+/);
    const stdin = JSON.stringify({ type: 'tool_exec', tool_name: 'peer.wait', request_id: 'long', id: 'a' });
    expect((await run(['submit', '-', '--url', own], { stdin })).code).toBe(0);
    const tail = start(['tail', 'long', '--url', own], { cwd: home });
    await tail.said(/ai\.tool\.started/);
    tail.child.kill('SIGINT');
    await tail.ended;
    return running;
  }

  test('that is sent twice at once, as wrappers do, is gentle', async () => {
    await using redis = await startRedis();
    const cwd = await folder({ 'adjutant.json': CONFIG });
    const running = start(['up', '--port', '0'], { cwd, env: { REDIS_URL: redis.url } });
    await running.said(/listens on/);
    running.child.kill('SIGTERM');
    running.child.kill('SIGTERM');
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(0);
    expect(running.child.signalCode).toBeNull();
  });

  test('that takes long is forced by a later signal', async () => {
    await using redis = await startRedis();
    const running = await upAtWork(redis.url);
    running.child.kill('SIGTERM');
    await running.said(/stopping/);
    const insisting = setInterval(() => running.child.kill('SIGTERM'), 50);
    await running.ended;
    clearInterval(insisting);
    expect(running.child.signalCode).toBe('SIGTERM');
  });

  test('during the start ends the private Redis, too, and leaves the folder free', async () => {
    const cwd = await folder({ 'adjutant.json': CONFIG });
    const running = start(['up', '--port', '0'], { cwd });
    const redisPid = await vi.waitFor(
      async () => {
        const owner = JSON.parse(await readFile(join(cwd, '.adjutant/redis/owner.json'), 'utf8')) as {
          redisPid: number | null;
        };
        expect(owner.redisPid).not.toBeNull();
        return owner.redisPid ?? 0;
      },
      { timeout: 20_000, interval: 5 },
    );
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(() => process.kill(redisPid, 0)).toThrow();
    await expect(readFile(join(cwd, '.adjutant/redis/owner.json'))).rejects.toThrow('ENOENT');
  });
});

describe('the roles', () => {
  test('api and worker share one Redis, and stop on SIGTERM', async () => {
    await using redis = await startRedis();
    const env = { REDIS_URL: redis.url, ADJUTANT_PREFIX: 'roles' };
    const api = start(['api', '--port', '0'], { cwd: home, env });
    const worker = start(['worker'], { cwd: home, env });
    const apiUrl = await api.said(/http:\/\/127\.0\.0\.1:\d+/);
    await worker.said(/adjutant works/);
    expect(await run(['call', 'peer.echo', '{"a":1}', '--url', apiUrl])).toMatchObject({
      code: 0,
      stdout: '{"a":1}\n',
    });
    for (const role of [api, worker]) {
      role.child.kill('SIGTERM');
      expect((await role.ended).code).toBe(0);
    }
  });

  test('api and worker alone report that they need a Redis', async () => {
    for (const role of ['api', 'worker']) {
      const { code, stderr } = await run([role]);
      expect(code).toBe(1);
      expect(stderr).toContain('REDIS_URL');
    }
  });

  test('a second up in one folder is refused', async () => {
    const { code, stderr } = await run(['up', '--port', '0']);
    expect(code).toBe(1);
    expect(stderr).toContain('already runs in this folder');
  });

  test('a taken port is reported with its fix', async () => {
    await using redis = await startRedis();
    const { code, stderr } = await run(['api', '--port', new URL(url).port], {
      env: { REDIS_URL: redis.url },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/--port/);
  });

  test('up takes over the Redis that a killed one left, with the accepted work', async () => {
    const cwd = await folder({ 'adjutant.json': CONFIG });
    const first = start(['up', '--port', '0'], { cwd });
    const firstUrl = await first.said(/http:\/\/127\.0\.0\.1:\d+/);
    const stdin = JSON.stringify({
      type: 'emit_tool_error',
      tool_name: 'peer.echo',
      error: 'e',
      request_id: 'kept',
    });
    expect((await run(['submit', '-', '--url', firstUrl], { stdin })).code).toBe(0);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = start(['up', '--port', '0'], { cwd });
    const secondUrl = await second.said(/http:\/\/127\.0\.0\.1:\d+/);
    expect((await run(['get', 'kept', '--url', secondUrl])).code).toBe(0);
    const { redisPid } = JSON.parse(await readFile(join(cwd, '.adjutant/redis/owner.json'), 'utf8')) as {
      redisPid: number;
    };
    second.child.kill('SIGINT');
    expect((await second.ended).code).toBe(0);
    expect(() => process.kill(redisPid, 0)).toThrow();
  });
});
