/** `adjutant/testing` as a user has it: a real service on demand, its faults, its clock, and nothing left behind.
 *  It must not use what the other tests have to start a service. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceUnavailable } from 'adjutant/client';
import { startTestKit, type TestKit } from 'adjutant/testing';
import { eventually } from '../support/eventually.ts';
import { spawnNode } from '../support/process.ts';
import { WITH_PACKAGE } from '../support/program.ts';

const LONG = 'x'.repeat(64);
const echo = { effect: 'read', run: (args: object) => args } as const;

describe('a kit', () => {
  let kit: TestKit;

  beforeAll(async () => {
    kit = await startTestKit({ tools: { test: { echo, [LONG]: echo, 'a/b': echo, a_b: echo } } });
  });

  afterAll(async () => kit.stop());

  test('answers 503 while Redis is cut off, and goes on afterwards', async () => {
    const call = { type: 'tool_exec', request_id: 'cut', id: 'a', tool_name: 'test.echo' } as const;
    kit.faults.cutRedis();
    await expect(kit.client.submit(call)).rejects.toThrow(ServiceUnavailable);
    kit.faults.restoreRedis();
    await eventually(async () => submitted(kit, call)).toBe(true);
    expect(await kit.client.result('cut', 'a')).toMatchObject({ data: { result: { ok: true } } });
  });

  test('has its API at the same address after a kill', async () => {
    await kit.faults.killApi();
    await eventually(async () => (await fetch(`${kit.url}/readyz`)).status).toBe(200);
    expect((await kit.client.tools()).tools.map(({ name }) => name)).toContain('test.echo');
  });

  test.each([LONG, 'a/b', 'a_b'])('has a model that calls %s', async (name) => {
    kit.model.wants({ tool: `test.${name}`, arguments: { said: 'hi' } }).says('Done.');
    const requestId = `wants-${name.replace('/', '-')}`;
    await kit.client.runs.start({ agent: 'default', query: 'Call it.', request_id: requestId });
    await eventually(async () => (await kit.client.request(requestId))?.run?.status).toBe('completed');
    expect(kit.tools.calls.at(-1)).toEqual({ tool: `test.${name}`, arguments: { said: 'hi' } });
  });

  test('moves the clock of a process that starts meanwhile', async () => {
    await Promise.all([kit.faults.startWorker(), kit.clock.advance('1h')]);
    await kit.faults.killWorker({ replace: false });
    const before = kit.clock.now();
    await kit.client.execute({ type: 'tool_exec', request_id: 'moved', id: 'a', tool_name: 'test.echo' });
    const [, ...ofWorker] = await kit.signals('moved');
    expect(Math.min(...ofWorker.map(({ time }) => Date.parse(time)))).toBeGreaterThan(before - 60_000);
  });

  test('says which fault is of a tool that does not exist', () => {
    expect(() => kit.tools.loses('test.ecko')).toThrow(
      "The test kit has no tool 'test.ecko'; it has test.echo, ",
    );
  });

  test('says when a model is asked more than the test has answered', async () => {
    const context = [{ role: 'user' as const, content: 'Hello' }];
    const signal = await kit.client.execute({ type: 'llm_generate', model: 'fast', context });
    expect(JSON.stringify(signal.data)).toContain('the scripted model has no answer left');
  });

  test('does not move its clock back, nor by what is no length of time', async () => {
    const before = kit.clock.now();
    await kit.clock.advance('2h');
    expect(kit.clock.now()).toBeGreaterThanOrEqual(before + 7_200_000);
    for (const wrong of [-1, 0.5, 'soon', '2 hours', Number.NaN])
      await expect(kit.clock.advance(wrong)).rejects.toThrow('The clock moves forward');
  });
});

async function submitted(kit: TestKit, call: Parameters<TestKit['client']['submit']>[0]): Promise<boolean> {
  return kit.client.submit(call).then(
    () => true,
    () => false,
  );
}

test('a fault of the configuration is said at the start', async () => {
  await expect(startTestKit({ config: { worker: { lease: 5 } } })).rejects.toThrow(/worker\.lease/);
});

test('the example with node:test passes', async () => {
  const args = [...WITH_PACKAGE, '--test', 'examples/testing/forecast.node-test.ts'];
  // Its runner would report to ours.
  const child = spawnNode(args, { env: { NODE_TEST_CONTEXT: undefined } });
  expect(await child.exited, child.lines.join('\n')).toMatchObject({ code: 0 });
  expect(child.lines.join('\n')).toMatch(/pass 3$/m);
});

test('a test process that is killed leaves neither a service nor a Redis, nor its files', async () => {
  const program = `
    import { startTestKit } from 'adjutant/testing';
    import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
    await startTestKit();
    const children = readdirSync('/proc').filter((pid) => /^\\\\d+$/.test(pid) && parentOf(pid) === process.pid);
    for (const pid of children) if (/redis/.test(readFileSync('/proc/' + pid + '/comm', 'utf8'))) console.log('folder ' + readlinkSync('/proc/' + pid + '/cwd'));
    console.log('children ' + children.join(' '));
    function parentOf(pid) {
      try { return Number(/^PPid:\\\\s+(\\\\d+)$/m.exec(readFileSync('/proc/' + pid + '/status', 'utf8'))[1]); } catch { return 0; }
    }`.replaceAll('\\\\', '\\');
  const child = spawnNode([...WITH_PACKAGE, '--input-type=module', '--eval', program]);
  const [, ...pids] = (await child.waitForLine(/^children /)).split(' ').map(Number);
  expect(pids).toHaveLength(3);
  const [, folder = ''] = (await child.waitForLine(/^folder /)).split(' ');
  expect(existsSync(`${folder}/redis.conf`)).toBe(true);
  await child.kill9();
  await eventually(() => pids.filter(isAlive)).toEqual([]);
  await eventually(() => existsSync(folder)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
