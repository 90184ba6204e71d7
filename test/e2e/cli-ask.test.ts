/** `adjutant ask` and the steering of runs, as a person or a script uses them, against a mock of the providers.
 *  It must never reach a real provider, nor import the program. */
import { LLMock } from '@copilotkit/aimock';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { requestViewSchema } from '../../src/contract/request-view.ts';
import { runViewSchema } from '../../src/contract/run.ts';
import { cliFolder, type Run, type Running, startCli } from '../support/cli.ts';
import { startRedis } from '../support/redis.ts';

const PEER = fileURLToPath(new URL('../support/servers/legacy-peer.ts', import.meta.url));
const ANSWER = 'The sum is 5, and the echo came back.';
const mock = new LLMock({ port: 0, chunkSize: 8 });

let home: string;
let up: Running;
let env: Readonly<Record<string, string>>;

async function run(args: readonly string[], stdin = ''): Promise<Run> {
  return startCli(args, { cwd: home, env, stdin }).ended;
}

function start(...args: string[]): Running {
  return startCli(args, { cwd: home, env });
}

function script(said: string, toolCalls: readonly object[], answer: string): void {
  mock.on({ userMessage: said, hasToolResult: false }, { toolCalls: toolCalls as never });
  mock.on({ userMessage: said, hasToolResult: true }, { content: answer });
}

/** The last messages that the model got. */
function lastMessages(): { role: string; content: string }[] {
  return (
    (mock.getLastRequest()?.body as { messages?: { role: string; content: string }[] } | undefined)
      ?.messages ?? []
  );
}

function configuration(): object {
  return {
    mcpServers: { peer: { command: process.execPath, args: [PEER, 'stdio'] } },
    providers: { mock: { type: 'openai-compatible', base_url: `${mock.url}/v1` } },
    models: { fast: 'mock:m' },
    agents: {
      careful: { description: 'Asks first', tools: ['peer.*'], policies: { approvals: { '*': 'ask' } } },
    },
    worker: { drain_ms: 0 },
  };
}

async function untilReady(): Promise<void> {
  await vi.waitFor(async () => expect((await run(['tools'])).stdout).toContain('peer.add'), 20_000);
}

beforeAll(async () => {
  const add = { id: 'call_add', name: 'peer_add', arguments: '{"a":2,"b":3}' };
  const echo = { id: 'call_echo', name: 'peer_echo', arguments: '{"said":"hi"}' };
  script('sum and echo', [add, echo], ANSWER);
  script('sum with leave', [add], 'Done with leave.');
  script('wait for ever', [{ id: 'call_wait', name: 'peer_wait', arguments: '{}' }], 'It came back.');
  mock.onMessage('forbidden', {
    error: { message: 'No such key', type: 'authentication_error' },
    status: 401,
  });
  mock.onMessage('my name', { content: 'Hello Ada.' });
  mock.onMessage('who am I', { content: 'You are Ada.' });
  await mock.start();
  home = await cliFolder({ 'adjutant.json': configuration() });
  up = startCli(['up', '--port', '0'], { cwd: home });
  env = { ADJUTANT_URL: await up.said(/http:\/\/127\.0\.0\.1:\d+/) };
  await untilReady();
});

afterAll(async () => {
  up?.child.kill('SIGTERM');
  expect((await up?.ended)?.code).toBe(0);
  await mock.stop();
  await rm(home, { recursive: true, force: true });
});
beforeEach(() => mock.clearRequests());

describe('a question', () => {
  test('is answered on stdout; each tool call is a line beside it', async () => {
    const { code, stdout, stderr } = await run(['ask', 'sum and echo']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${ANSWER}\n` });
    expect(stderr).toMatch(/^✓ peer\.add \{"a":2,"b":3\} \d/m);
    expect(stderr).toMatch(/^✓ peer\.echo \{"said":"hi"\} \d/m);
    expect(stderr).toMatch(/^agent default · 2 iterations · 2 tool calls · /m);
  });

  test('is answered live when requested, once', async () => {
    const { code, stdout } = await run(['ask', '-', '--stream'], 'sum and echo\n');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${ANSWER}\n` });
  });

  test('is the view of its run with --json', async () => {
    const { code, stdout } = await run(['ask', 'sum and echo', '--json']);
    expect(code).toBe(0);
    const view = runViewSchema.parse(JSON.parse(stdout));
    expect(view).toMatchObject({ status: 'completed', result: ANSWER, tool_calls: 2, iterations: 2 });
  });

  test('leaves its whole history', async () => {
    await run(['ask', 'sum and echo', '--no-stream', '--request', 'story']);
    const { code, stdout } = await run(['get', 'story']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/tool_exec +succeeded +tool\.peer +1 attempt, \d/);
    expect(stdout).toMatch(/llm_generate +succeeded +llm\.mock/);
    expect(stdout).toMatch(
      /completed \(final_answer\) · agent default · 2 iterations · 2 tool calls · \d+ → \d+ tokens/,
    );
    expect(stdout).toMatch(/assistant +→ peer\.add \{"a":2,"b":3\} → peer\.echo/);
    expect(stdout).toMatch(/tool peer\.add +\{"ok":true/);
    expect(stdout).toContain(`answer ${ANSWER}`);
    const view = requestViewSchema.parse(JSON.parse((await run(['get', 'story', '--json'])).stdout));
    expect(view.run?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
    ]);
  });

  test('sent twice under one id is one run', async () => {
    const first = await run(['ask', 'sum and echo', '--request', 'once']);
    mock.clearRequests();
    expect((await run(['ask', 'sum and echo', '--request', 'once'])).stdout).toBe(first.stdout);
    expect(mock.getRequests()).toHaveLength(0);
    const other = await run(['ask', 'my name', '--request', 'once']);
    expect(other.code).toBe(1);
    expect(other.stderr).toMatch(/id_conflict/);
  });

  test('of a conversation knows the earlier messages', async () => {
    await run(['ask', 'my name is Ada', '--conversation', 'c-1']);
    const { stdout } = await run(['ask', 'who am I', '--conversation', 'c-1']);
    expect(stdout).toBe('You are Ada.\n');
    const messages = lastMessages();
    expect(messages.slice(-3)).toEqual([
      { role: 'user', content: 'my name is Ada' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'who am I' },
    ]);
  });

  test('that cannot be answered fails with the reason', async () => {
    const { code, stdout, stderr } = await run(['ask', 'forbidden', '--request', 'refused']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^failed \w+: .*No such key/m);
    expect((await run(['get', 'refused'])).code).toBe(1);
    expect((await run(['ask', 'forbidden', '--json'])).code).toBe(1);
  });

  test('to an unknown agent is refused, with the known names', async () => {
    const { code, stderr } = await run(['ask', 'hello', '--agent', 'nobody']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/not_found.*careful, default/);
    expect((await run(['ask', ' '])).code).toBe(2);
  });
});

test('agents are listed, the built-in one among them', async () => {
  const { stdout } = await run(['agents']);
  expect(stdout).toMatch(/^careful +fast +peer\.\* +Asks first$/m);
  expect(stdout).toMatch(/^default +fast +\* /m);
  const { agents } = JSON.parse((await run(['agents', '--json'])).stdout) as { agents: { name: string }[] };
  expect(agents.map(({ name }) => name)).toEqual(['careful', 'default']);
});

describe('a tool call that needs approval', () => {
  /** A run that waits, and the id of its call. */
  async function waiting(request: string): Promise<{ asked: Running; call: string }> {
    const asked = start('ask', 'sum with leave', '--agent', 'careful', '--request', request);
    const told = await asked.said(new RegExp(`adjutant approve ${request} \\S+`));
    return { asked, call: told.split(' ').at(-1) ?? '' };
  }

  test('shows how to decide, and continues after the decision', async () => {
    const { asked, call } = await waiting('leave');
    expect((await run(['get', 'leave'])).stdout).toMatch(new RegExp(`approval +${call} +peer\\.add +until`));
    expect(await run(['approve', 'leave', call])).toMatchObject({ code: 0, stdout: `${call}  approved\n` });
    expect(await asked.ended).toMatchObject({ code: 0, stdout: 'Done with leave.\n' });
    const again = await run(['deny', 'leave', call]);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/already_decided|request_closed/);
  });

  test('that is denied is an error that the model reads', async () => {
    const { asked, call } = await waiting('denied');
    await run(['deny', 'denied', call, '--reason', 'too dear']);
    const { code, stderr } = await asked.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/^✗ peer\.add.* denied: .*too dear/m);
    const messages = lastMessages();
    expect(messages.at(-1)?.content).toContain('too dear');
  });

  test('may get other arguments', async () => {
    const { asked, call } = await waiting('edited');
    expect((await run(['approve', 'edited', call, '--arguments', '[1]'])).code).toBe(2);
    await run(['approve', 'edited', call, '--arguments', '{"a":20,"b":3}']);
    expect((await asked.ended).code).toBe(0);
    const messages = lastMessages();
    expect(messages.at(-1)?.content).toContain('23');
  });

  test('is decided only by its own id', async () => {
    const { asked, call } = await waiting('named');
    const { code, stderr } = await run(['approve', 'named', 'nobody']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/not_found/);
    await run(['deny', 'named', call]);
    await asked.ended;
  });

  test('leaves time for an input, which the model reads next', async () => {
    const { asked, call } = await waiting('steered');
    const given = await run(['input', 'steered', 'and be brief', '--id', 'i-1']);
    expect(given).toMatchObject({ code: 0, stdout: 'i-1  it is the next\n' });
    await run(['approve', 'steered', call]);
    await asked.ended;
    const messages = lastMessages();
    expect(messages.filter(({ role }) => role === 'user').at(-1)?.content).toContain('and be brief');
    const late = await run(['input', 'steered', 'too late']);
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/request_closed/);
  });
});

describe('an interrupt', () => {
  test('cancels the run, with all its work under way', async () => {
    const running = start('ask', 'wait for ever', '--request', 'stopped');
    await vi.waitFor(
      async () => expect((await run(['get', 'stopped'])).stdout).toMatch(/tool_exec +running/),
      20_000,
    );
    running.child.kill('SIGINT');
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/^failed cancelled: /m);
    const view = requestViewSchema.parse(JSON.parse((await run(['get', 'stopped', '--json'])).stdout));
    expect(view.run).toMatchObject({ status: 'cancelled' });
  });
});

test('separate roles together work like one process', async () => {
  await using redis = await startRedis();
  const part = (...args: string[]): Running => startCli(args, { cwd: home, env: { REDIS_URL: redis.url } });
  const api = part('api', '--port', '0');
  const roles = [api, part('engine'), part('worker')];
  const url = await api.said(/http:\/\/127\.0\.0\.1:\d+/);
  const apart = async (...args: string[]): Promise<Run> =>
    startCli(args, { cwd: home, env: { ADJUTANT_URL: url } }).ended;
  await vi.waitFor(async () => expect((await apart('tools')).stdout).toContain('peer.add'), 20_000);
  expect(await apart('ask', 'sum and echo')).toMatchObject({ code: 0, stdout: `${ANSWER}\n` });
  for (const role of roles) role.child.kill('SIGTERM');
  for (const role of roles) expect((await role.ended).code).toBe(0);
});
