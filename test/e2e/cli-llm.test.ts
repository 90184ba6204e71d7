/** `adjutant llm` as a person or a script uses it, against an independent mock of the providers.
 *  It must never reach a real provider. Piped, live and interrupted answers are of a process; the rest runs in the test's. */
import { LLMock } from '@copilotkit/aimock';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { modelTurnSchema } from '../../src/contract/model/model-turn.ts';
import { useCliService } from '../support/cli-service.ts';
import { runCommand } from '../support/command.ts';

const TEXT = 'The quick brown fox jumps over the lazy dog.';
const LONG = TEXT.repeat(20);
const mock = new LLMock({ port: 0, chunkSize: 8 });

/** Starts the mock with its answers. */
async function configure(): Promise<object> {
  const steady = { streamingProfile: { ttft: 0, tps: 200 } };
  mock.onMessage('hello', { content: TEXT });
  mock.onMessage('think', { content: 'Forty-two.', reasoning: 'Six times seven.' });
  const isCut = { disconnectAfterMs: 150, latency: 10 };
  mock.on({ userMessage: 'cut', sequenceIndex: 0 }, { content: LONG }, isCut);
  mock.on({ userMessage: 'cut', sequenceIndex: 1 }, { content: TEXT });
  mock.on({ userMessage: 'broken' }, { content: LONG }, isCut);
  const error = { message: 'No such key', type: 'authentication_error' };
  mock.onMessage('forbidden', { error, status: 401 });
  mock.onMessage('endless', { content: LONG.repeat(50) }, steady);
  mock.onMessage('a person', { content: '{"name":"Ada","age":36}' });
  await mock.start();
  return {
    mcpServers: {},
    providers: { mock: { type: 'openai-compatible', base_url: `${mock.url}/v1` } },
    models: { fast: 'mock:m' },
    worker: { drain_ms: 0 },
  };
}

const { service, start, run, cli } = useCliService(configure);
afterAll(async () => mock.stop());

describe('an answer', () => {
  test('is all that a pipe gets; its model is shown on stderr', async () => {
    const { code, stdout, stderr } = await run(['llm', 'hello', '--model', 'mock:m']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${TEXT}\n` });
    expect(stderr).toMatch(/\d+ → \d+ tokens/);
  });

  test('is printed live when requested, its thinking on stderr', async () => {
    const { code, stdout, stderr } = await run(['llm', 'think', '--stream']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Forty-two.\n' });
    expect(stderr).toContain('Six times seven.');
  });

  test('is the same when requested at once, and from stdin', async () => {
    const atOnce = ['llm', '-', '--no-stream', '--request', 'at-once', '--id', 'a'];
    const { code, stdout } = await run(atOnce, { stdin: 'hello\n' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${TEXT}\n` });
    const view = JSON.parse((await cli('get', 'at-once', 'a', '--json')).stdout) as { directive: object };
    expect(view.directive).toMatchObject({ type: 'llm_generate' });
  });

  test('is the envelope with --json', async () => {
    const { code, stdout, stderr } = await cli('llm', 'hello', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const result = JSON.parse(stdout) as { ok: boolean; payload: unknown };
    expect(result.ok).toBe(true);
    expect(modelTurnSchema.parse(result.payload)).toMatchObject({ text: TEXT, type: 'final_answer' });
  });

  test('that fits a schema is its value', async () => {
    const file = join(service.home, 'person.json');
    const schema = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } };
    await writeFile(file, JSON.stringify({ ...schema, required: ['name', 'age'] }));
    const { code, stdout } = await cli('llm', 'a person', '--schema', file);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ name: 'Ada', age: 36 });
    const typo = await cli('llm', 'a person', '--schema', join(service.home, 'nobody.json'));
    expect(typo).toMatchObject({ code: 2, stdout: '' });
  });

  test('passes its options on', async () => {
    mock.clearRequests();
    await cli('llm', 'hello', '--system', 'Be brief.', '--max-tokens', '77', '--temperature', '0.5');
    expect(mock.getLastRequest()?.body).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
      max_tokens: 77,
      temperature: 0.5,
    });
  });
});

describe('a stream that is cut', () => {
  test('starts again, which a live reader sees and a pipe does not', async () => {
    const retried = ['--max-retries', '1', '--model', 'mock:m'];
    const live = await cli('llm', 'cut', '--stream', ...retried);
    expect(live.code).toBe(0);
    expect(live.stderr).toMatch(/retry 1\/1/);
    const [, said = ''] =
      /attempt 2 starts the answer again; the (\d+) characters before this are void/.exec(live.stderr) ?? [];
    expect(live.stdout.slice(Number(said)).trim()).toBe(TEXT);
    mock.resetMatchCounts();
    const piped = await cli('llm', 'cut', ...retried);
    expect(piped).toMatchObject({ code: 0, stdout: `${TEXT}\n` });
    expect(piped.stderr).toMatch(/attempt 2 starts the answer again$/m);
  });

  test('without a retry is a failure: a pipe gets nothing', async () => {
    const { code, stdout, stderr } = await cli('llm', 'broken');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^failed (network|provider_error): /m);
    const json = await cli('llm', 'broken', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, error: { retryable: true } });
  });
});

describe('a refusal', () => {
  test('of the provider is shown with its type', async () => {
    const { code, stdout, stderr } = await cli('llm', 'forbidden');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^failed auth: /m);
  });

  test('of a model that no worker serves names the reason', async () => {
    const { code, stderr } = await cli('llm', 'hello', '--model', 'nobody:m');
    expect(code).toBe(1);
    expect(stderr).toMatch(/unknown_model/);
  });

  test('of an empty prompt or a wrong number is a usage error', async () => {
    expect((await run(['llm', '-'], { stdin: ' \n' })).code).toBe(2);
    expect((await cli('llm', 'hello', '--temperature', 'hot')).code).toBe(2);
  });

  test('without a service is an unreachable service', async () => {
    expect((await runCommand(['llm', 'hello'], 'http://127.0.0.1:9')).code).toBe(3);
  });
});

describe('an interrupt', () => {
  test('cancels the call; its answer was printed before it was complete', async () => {
    const running = start(['llm', 'endless', '--stream', '--request', 'stopped', '--id', 'a']);
    await running.said(/The quick/);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/^failed cancelled: /m);
    const view = JSON.parse((await cli('get', 'stopped', 'a', '--json')).stdout) as object;
    expect(view).toMatchObject({
      status: 'failed',
      result: {
        data: {
          result: { error: { type: 'cancelled', details: { reason: 'interrupted at the terminal' } } },
        },
      },
    });
  });
});

test('tail shows text by the line, not by the piece', async () => {
  await cli('llm', 'hello', '--request', 'tailed', '--id', 'a');
  const { stdout } = await cli('tail', 'tailed');
  const deltas = stdout.split('\n').filter((line) => line.includes('ai.llm.delta'));
  const { length } = (await cli('tail', 'tailed', '--json')).stdout
    .split('\n')
    .filter((line) => line.includes('"ai.llm.delta"'));
  expect(deltas.length).toBeLessThanOrEqual(length);
  expect(deltas.map((line) => line.replace(/^.* a (?=\S)/, '')).join(' ')).toContain('The quick brown fox');
  expect(stdout).toMatch(/ai\.usage .*→ \d+ tokens/);
});
