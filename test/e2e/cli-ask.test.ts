/** `adjutant ask` and the steering of runs, as a person or a script uses them, against a mock of the providers.
 *  It must never reach a real provider, and must run each command as a process at least once. */
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { requestViewSchema } from '../../src/contract/request/request-view.ts';
import { runViewSchema } from '../../src/contract/run/run.ts';
import { type Running, startCli, type Watched } from '../support/cli.ts';
import { URL_OF_A_SERVICE, useCliService } from '../support/cli-service.ts';
import { runCommand, startCommand } from '../support/command.ts';
import { eventually, untilListed } from '../support/eventually.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { startRedis } from '../support/redis.ts';

const STOPS = ['SIGTERM', 'SIGTERM', 'SIGINT'] as const;
const ANSWER = 'The sum is 5, and the echo came back.';
const mock = new LLMock({ port: 0, chunkSize: 8 });

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
    mcpServers: { peer: ownServerEntry('legacy-peer.ts') },
    providers: { mock: { type: 'openai-compatible', base_url: `${mock.url}/v1` } },
    models: { fast: 'mock:m' },
    agents: {
      careful: { description: 'Asks first', tools: ['peer.*'], policies: { approvals: { '*': 'ask' } } },
    },
    worker: { drain_ms: 0 },
  };
}

/** Starts the mock with its scripts. */
async function configure(): Promise<object> {
  const add = { id: 'call_add', name: 'peer_add', arguments: '{"a":2,"b":3}' };
  const echo = { id: 'call_echo', name: 'peer_echo', arguments: '{"said":"hi"}' };
  script('sum and echo', [add, echo], ANSWER);
  // A fork says it after the task, in one message: the first script that matches answers.
  script('another sum', [{ ...add, arguments: '{"a":2,"b":4}' }], 'Another sum.');
  script('sum with leave', [add], 'Done with leave.');
  script('wait for ever', [{ id: 'call_wait', name: 'peer_wait', arguments: '{}' }], 'It came back.');
  const error = { message: 'No such key', type: 'authentication_error' };
  mock.onMessage('forbidden', { error, status: 401 });
  mock.onMessage('my name', { content: 'Hello Ada.' });
  mock.onMessage('who am I', { content: 'You are Ada.' });
  await mock.start();
  return configuration();
}

const { service, start, run, cli } = useCliService(configure);

beforeAll(async () => untilListed(service.url, 'peer.add'));
afterAll(async () => mock.stop());
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
    const { code, stdout } = await run(['ask', '-', '--stream'], { stdin: 'sum and echo\n' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${ANSWER}\n` });
  });

  test('waits until its instant, and nobody waits for it', async () => {
    const { code, stdout } = await cli(
      'ask',
      'my name',
      '--in',
      '8h',
      '--start-by',
      '1h',
      '--request',
      'at-eight',
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'accepted at-eight, begins in 8h\n' });
    expect((await cli('ask', 'x', '--in', '1m', '--at', '2030-01-01T00:00:00Z')).code).toBe(2);
    expect((await cli('cancel', 'at-eight')).code).toBe(0);
  });

  test('is the view of its run with --json', async () => {
    const { code, stdout } = await cli('ask', 'sum and echo', '--json');
    expect(code).toBe(0);
    const view = runViewSchema.parse(JSON.parse(stdout));
    expect(view).toMatchObject({ status: 'completed', result: ANSWER, tool_calls: 2, iterations: 2 });
  });

  test('leaves its whole history', async () => {
    await cli('ask', 'sum and echo', '--no-stream', '--request', 'story');
    const { code, stdout } = await cli('get', 'story');
    expect(code).toBe(0);
    expect(stdout).toMatch(/tool_exec +succeeded +tool\.peer +1 attempt, \d/);
    expect(stdout).toMatch(/llm_generate +succeeded +llm\.mock/);
    expect(stdout).toMatch(
      /completed \(final_answer\) · agent default · 2 iterations · 2 tool calls · \d+ → \d+ tokens/,
    );
    expect(stdout).toMatch(/assistant +→ peer\.add \{"a":2,"b":3\} → peer\.echo/);
    expect(stdout).toMatch(/tool peer\.add +\{"ok":true/);
    expect(stdout).toContain(`answer ${ANSWER}`);
    const view = requestViewSchema.parse(JSON.parse((await cli('get', 'story', '--json')).stdout));
    expect(view.run?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
    ]);
  });

  test('under a key is one run for all of a window', async () => {
    const options = ['--dedupe', 'morning', '--window', '10m'];
    const first = await cli('ask', 'sum and echo', ...options);
    expect(first.stdout).toBe(`${ANSWER}\n`);
    const second = await cli('ask', 'my name', ...options);
    expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 0, stdout: first.stdout });
    expect(second.stderr).toMatch(/^deduplicated with once\.\S+, until /m);
    const later = await cli('ask', 'x', '--debounce', 'wiki', '--quiet', '1h');
    expect(later.stdout).toMatch(/^accepted once\.\S+, begins at \S+, if nothing else comes$/m);
    expect((await cli('ask', 'x', '--quiet', '1h')).code).toBe(2);
  });

  test('that has joined a later one does not promise a begin of its own', async () => {
    const own = await cli('ask', 'x', '--singleton', 'desk', '--in', '8h');
    const joined = await cli('ask', 'y', '--singleton', 'desk', '--when-open', 'join', '--in', '9h');
    const [, id] = /^accepted (\S+), begins in 8h\n$/.exec(own.stdout) ?? [];
    expect(joined.stdout).toBe(`joined ${id}, which is open\n`);
    expect(joined.stderr).not.toContain('cancel it');
  });

  test('sent twice under one id is one run', async () => {
    const first = await cli('ask', 'sum and echo', '--request', 'once');
    mock.clearRequests();
    expect((await cli('ask', 'sum and echo', '--request', 'once')).stdout).toBe(first.stdout);
    expect(mock.getRequests()).toHaveLength(0);
    const other = await cli('ask', 'my name', '--request', 'once');
    expect(other.code).toBe(1);
    expect(other.stderr).toMatch(/id_conflict/);
  });

  test('of a conversation knows the earlier messages', async () => {
    await cli('ask', 'my name is Ada', '--conversation', 'c-1');
    const { stdout } = await cli('ask', 'who am I', '--conversation', 'c-1');
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
    expect((await cli('get', 'refused')).code).toBe(1);
    // Issue 35, point 3: a redrive of a step says that it repeats the call alone, and names the resume.
    const dry = await cli('dead', 'redrive', 'refused/model-1', '--dry-run');
    expect(dry.stdout).toMatch(/^refused\/model-1 +would be redriven +repeats the call alone/m);
    expect(dry.stderr).toContain('adjutant resume refused');
    expect((await cli('ask', 'forbidden', '--json')).code).toBe(1);
  });

  test('to an unknown agent is refused, with the known names', async () => {
    const { code, stderr } = await cli('ask', 'hello', '--agent', 'nobody');
    expect(code).toBe(1);
    expect(stderr).toMatch(/not_found.*careful, default/);
    expect((await cli('ask', ' ')).code).toBe(2);
  });
});

test('agents are listed, the built-in one among them', async () => {
  const { stdout } = await run(['agents']);
  expect(stdout).toMatch(/^careful +fast +peer\.\* +Asks first$/m);
  expect(stdout).toMatch(/^default +fast +\* /m);
  const lines = (await cli('agents', '--json')).stdout.trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(['careful', 'default']);
});

describe('a tool call that needs approval', () => {
  /** A run that waits, and the id of its call. */
  async function waiting(request: string): Promise<{ asked: Watched; call: string }> {
    const asked = startCommand(
      ['ask', 'sum with leave', '--agent', 'careful', '--request', request],
      service.url,
    );
    const told = await asked.said(new RegExp(`adjutant approve ${request} \\S+`));
    return { asked, call: told.split(' ').at(-1) ?? '' };
  }

  test('shows how to decide, and continues after the decision', async () => {
    const { asked, call } = await waiting('leave');
    expect((await cli('get', 'leave')).stdout).toMatch(new RegExp(`approval +${call} +peer\\.add +until`));
    expect(await run(['approve', 'leave', call])).toMatchObject({ code: 0, stdout: `${call}  approved\n` });
    expect(await asked.ended).toMatchObject({ code: 0, stdout: 'Done with leave.\n' });
    const again = await cli('deny', 'leave', call);
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
    await cli('approve', 'edited', call, '--arguments', '{"a":20,"b":3}');
    expect((await asked.ended).code).toBe(0);
    const messages = lastMessages();
    expect(messages.at(-1)?.content).toContain('23');
  });

  test('is decided only by its own id', async () => {
    const { asked, call } = await waiting('named');
    const { code, stderr } = await cli('approve', 'named', 'nobody');
    expect(code).toBe(1);
    expect(stderr).toMatch(/not_found.*"nobody" of request "named" waits for no decision/);
    expect(stderr).toContain(`these wait for one: ${call}`);
    expect((await cli('get', 'named')).stdout).toContain(`approve named ${call}\n`);
    await cli('deny', 'named', call);
    await asked.ended;
  });

  test('leaves time for an input, which the model reads next', async () => {
    const { asked, call } = await waiting('steered');
    const given = await run(['input', 'steered', 'and be brief', '--id', 'i-1']);
    expect(given).toMatchObject({ code: 0, stdout: 'i-1  it is the next\n' });
    await cli('approve', 'steered', call);
    await asked.ended;
    const messages = lastMessages();
    expect(messages.filter(({ role }) => role === 'user').at(-1)?.content).toContain('and be brief');
    const late = await cli('input', 'steered', 'too late');
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/request_closed/);
  });
});

describe('again and fork', () => {
  test('make new requests of a run, with changes, and get shows where they come from', async () => {
    await run(['ask', 'sum and echo', '--request', 'first']);
    const again = await run(['again', 'first', '--query', 'my name', '--request', 'second']);
    expect(again).toMatchObject({ code: 0, stdout: 'accepted second, again of first\n' });
    await eventually(async () => (await cli('get', 'second')).stdout).toMatch(
      /run completed .* again of first$/m,
    );
    const changed = ['--say', 'who am I', '--result', 'tool-1-0=7', '--result', 'call_echo="ho"'];
    const fork = await run(['fork', 'first', '--at', '2', ...changed, '--request', 'third']);
    expect(fork).toMatchObject({ code: 0, stdout: 'accepted third, fork of first at turn 2\n' });
    await eventually(async () => (await cli('get', 'third')).stdout).toMatch(
      /run completed .* fork of first at turn 2$/m,
    );
    expect(lastMessages().slice(-3)).toMatchObject([
      { role: 'tool', content: '7' },
      { role: 'tool', content: 'ho' },
      { role: 'user', content: 'who am I' },
    ]);
    const view = requestViewSchema.parse(JSON.parse((await cli('get', 'first', '--json')).stdout));
    expect(view.descendants).toEqual(['second', 'third']);
    expect((await cli('get', 'first')).stdout).toMatch(/run again or forked as\n +second\n +third$/m);
    const none = await run(['fork', 'first', '--at', '9']);
    expect(none.code).not.toBe(0);
    expect(none.stderr).toMatch(/has no turn 9: its model was called 2 times/);
  });

  test('dry forks call no tool', async () => {
    await run(['ask', 'sum and echo', '--request', 'made']);
    const fork = await run(['fork', 'made', '--at', '1', '--dry', '--json', '--request', 'dried']);
    expect(JSON.parse(fork.stdout)).toMatchObject({ origin: { request_id: 'made', kind: 'fork', turn: 1 } });
    await eventually(async () => (await cli('get', 'dried')).stdout).toMatch(/run completed/);
    const view = requestViewSchema.parse(JSON.parse((await cli('get', 'dried', '--json')).stdout));
    const types = view.directives.map(({ type }) => type);
    expect(types.filter((type) => type === 'emit_tool_result')).toHaveLength(2);
    expect(types).not.toContain('tool_exec');
    // A case of the fork has the calls that the record answered: without them it could not be replayed.
    const lines = (await cli('record', 'dried')).stdout.trim().split('\n');
    const recorded = lines.map((line) => JSON.parse(line) as { kind: string; arguments?: unknown });
    expect(recorded.filter(({ kind }) => kind === 'call').map((call) => call.arguments)).toEqual([
      { a: 2, b: 3 },
      { said: 'hi' },
    ]);
    expect((await cli('diff', 'made', 'dried')).stdout).not.toMatch(/^ +- peer\./m);
  });

  // Issue 35, point 5: a `once` call that the original has not made asks a person, unless `--act` lets it act.
  test('of a call of a `once` tool that is not recorded asks a person, or makes it with --act', async () => {
    await cli('ask', 'sum with leave', '--request', 'added');
    for (const [id, flags, status] of [
      ['asks', [], /run waiting/],
      ['acts', ['--act', '--model', 'mock:other', '--prompt', 'Be brief.'], /run completed/],
    ] as const) {
      await cli('fork', 'added', '--at', '1', '--say', 'another sum', ...flags, '--request', id);
      await eventually(async () => (await cli('get', id)).stdout).toMatch(status);
    }
  });
});

describe('an interrupt', () => {
  test('cancels the run, with all its work under way', async () => {
    const running = start(['ask', 'wait for ever', '--request', 'stopped']);
    await eventually(async () => (await cli('get', 'stopped')).stdout).toMatch(/tool_exec +running/);
    running.child.kill('SIGINT');
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/^failed cancelled: /m);
    const view = requestViewSchema.parse(JSON.parse((await cli('get', 'stopped', '--json')).stdout));
    expect(view.run).toMatchObject({ status: 'cancelled' });
  });

  test('by a hang-up leaves the run running, and names how to follow it', async () => {
    const running = start(['ask', 'wait for ever', '--request', 'left']);
    await eventually(async () => (await cli('get', 'left')).stdout).toMatch(/tool_exec +running/);
    running.child.kill('SIGHUP');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /request left continues\.\n.*adjutant tail left; cancel it: .*adjutant cancel left$/m,
    );
    const view = requestViewSchema.parse(JSON.parse((await cli('get', 'left', '--json')).stdout));
    expect(view.run?.cancel_requested).not.toBe(true);
    expect(view.run?.ended_at).toBeNull();
    await cli('cancel', 'left');
  });
});

test('separate roles work like one process; a stop sent three times at once, as wrappers do, is gentle', async () => {
  await using redis = await startRedis();
  const part = (...args: string[]): Running =>
    startCli(args, { cwd: service.home, env: { REDIS_URL: redis.url } });
  const api = part('api', '--port', '0');
  const roles = [api, part('engine'), part('worker')];
  const apart = await api.said(URL_OF_A_SERVICE);
  await untilListed(apart, 'peer.add');
  const asked = await runCommand(['ask', 'sum and echo'], apart);
  expect(asked).toMatchObject({ code: 0, stdout: `${ANSWER}\n` });
  for (const { child } of roles) for (const signal of STOPS) child.kill(signal);
  for (const { child, ended } of roles) expect([(await ended).code, child.signalCode]).toEqual([0, null]);
});
