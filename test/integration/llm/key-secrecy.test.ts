/** A provider's key during whole runs, good and bad: everything written to Redis and logs is searched for it.
 *  It must never check what should be written, but everything that is. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { SubmittedDirective } from '../../../src/contract/directive.ts';
import { type Child, spawnNode } from '../../support/process.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

const PROGRAM = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const KEY = 'zq-hunter2-hunter2';
const HEADER = 'hunter3-hunter3';

const mock = new LLMock({ port: 0 });
const folder = mkdtempSync(join(tmpdir(), 'adjutant-keys-'));
let redis: TestRedis;
let tattler: Server;
let service: Child;

/** Refuses every call, and repeats its content. */
function startTattler(): Promise<Server> {
  const server = createServer((request, response) => {
    const sent = JSON.stringify(request.headers);
    response.writeHead(401, { 'content-type': 'application/json', 'x-sent': sent });
    response.end(JSON.stringify({ error: { message: `wrong key: ${sent}`, type: 'auth', code: null } }));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

beforeAll(async () => {
  mock.onMessage('hello', { content: 'Hi there.' });
  await mock.start();
  tattler = await startTattler();
  redis = await startRedis({ appendonly: true, args: ['--aof-use-rdb-preamble', 'no'] });
  const { port } = tattler.address() as AddressInfo;
  const shared = {
    type: 'openai',
    api_key_env: 'TEST_MODEL_KEY',
    headers: { 'x-team': '${TEST_MODEL_HEADER}' },
  };
  const config = {
    providers: {
      good: { ...shared, base_url: `${mock.url}/v1` },
      bad: { ...shared, base_url: `http://127.0.0.1:${port}/v1` },
    },
    models: { fast: ['bad:m', 'good:m'] },
  };
  writeFileSync(join(folder, 'adjutant.json'), JSON.stringify(config));
  const env = {
    REDIS_URL: redis.url,
    ADJUTANT_LOG_LEVEL: 'trace',
    TEST_MODEL_KEY: KEY,
    TEST_MODEL_HEADER: HEADER,
  };
  const args = [PROGRAM, 'up', '--config', join(folder, 'adjutant.json'), '--port', '0'];
  service = spawnNode(args, { env });
});
afterAll(async () => {
  await service.kill9();
  await redis.stop();
  await mock.stop();
  tattler.close();
  rmSync(folder, { recursive: true });
});

/** Every command that changed anything, as Redis recorded it. */
function everythingWritten(): string {
  const journal = join(redis.dir, 'appendonlydir');
  return readdirSync(journal)
    .map((file) => readFileSync(join(journal, file), 'latin1'))
    .join('\n');
}

test('is in no signal, no key of Redis and no line of a log', async () => {
  const line = await service.waitForLine(/^adjutant listens on/);
  const client = createHttpClient({ baseUrl: /http\S+/.exec(line)?.[0] ?? '' });
  const said: unknown[] = [];
  const context = [{ role: 'user' as const, content: 'hello' }];
  const directives: SubmittedDirective[] = ['good:m', 'bad:m', 'fast'].flatMap((model) => [
    { type: 'llm_generate', model, context },
    { type: 'llm_stream', model, context },
    { type: 'llm_embed', model, texts: ['hello'] },
  ]);
  for (const directive of directives) {
    const signal = await client.execute(directive, { timeoutMs: 20_000 });
    said.push(signal, await client.page(signal.subject), await client.request(signal.subject));
  }
  said.push(await client.lanes(), await client.tools(), await client.deadLetters());
  await client.close();
  await service.stop();
  expect(mock.getRequests().length).toBeGreaterThan(0);
  const written = everythingWritten();
  // The searched data belongs to the run: the answers and the refusals are in it.
  expect(written).toContain('Hi there.');
  expect(written).toContain('wrong key');
  for (const place of [JSON.stringify(said), written, service.lines.join('\n')]) {
    expect(place).not.toMatch(/hunter[23]/);
  }
});
