/** A canary in every place that takes a secret; then all output of a service and its tools is searched.
 *  It must never check what should be there, but everything that is. */
import { LLMock } from '@copilotkit/aimock';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';
import { spawnNode } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { PROGRAM } from '../support/program.ts';

const NAMED_TOOLS = fileURLToPath(new URL('../support/servers/named-tools.mjs', import.meta.url));
const CANARY = 'canary';
/** A different one in each place, so that a failure shows where it came from. */
const secret = (place: string): string => `${CANARY}-${place}-x7Qp`;

/** Refuses every call, and repeats its content, raw and decoded. */
async function startTattler(status: number): Promise<string> {
  const server = createServer((request, response) => {
    const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const sent = JSON.stringify([request.url, request.headers, Buffer.from(basic, 'base64').toString()]);
    response.writeHead(status, { 'content-type': 'application/json', 'x-sent': sent });
    response.end(JSON.stringify({ error: { message: `wrong: ${sent}` }, jsonrpc: '2.0', id: null }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Prints all its input and ends. */
const BABBLER = 'console.error("error:", ...process.argv, JSON.stringify(process.env)); process.exit(1)';

function servers(denies: string, breaks: string): object {
  const address = (host: string, place: string) => ({
    url: `http://user:${secret(`${place}-userinfo`)}@${host}/mcp?key=${secret(`${place}-query`)}`,
    headers: { 'x-key': secret(`${place}-header`) },
  });
  return {
    denies: address(denies, 'denies'),
    breaks: address(breaks, 'breaks'),
    away: address('127.0.0.1:1', 'away'),
    bearer: { url: `http://${denies}/mcp`, bearer_token: secret('bearer') },
    babbles: {
      command: process.execPath,
      args: ['-e', BABBLER, '--', '--api-key', secret('argument')],
      env: { API_KEY: secret('env'), DATABASE: `postgres://u:${secret('env-address')}@127.0.0.1/x` },
    },
    works: {
      command: process.execPath,
      args: [NAMED_TOOLS, '["echo"]'],
      env: { TOKEN: secret('env-works') },
    },
  };
}

/** Every command that changed anything, as Redis recorded it. */
function everythingWritten(redis: TestRedis): string {
  const journal = join(redis.dir, 'appendonlydir');
  return readdirSync(journal)
    .map((file) => readFileSync(join(journal, file), 'latin1'))
    .join('\n');
}

test('no secret is in an answer, a signal, a log line, a finding or what Redis keeps', async () => {
  const password = secret('redis');
  const args = ['--aof-use-rdb-preamble', 'no'];
  await using redis = await startRedis({ appendonly: true, args });
  const [denies, breaks] = [await startTattler(401), await startTattler(500)];
  const mock = new LLMock({ port: 0 });
  mock.onMessage('hi', { content: 'Hi there.' });
  await mock.start();
  onTestFinished(async () => mock.stop());
  const provider = {
    type: 'openai',
    api_key_env: 'MODEL_KEY',
    headers: { 'x-team': '${MODEL_HEADER}' },
  };
  const providers = {
    good: { ...provider, base_url: `${mock.url}/v1` },
    bad: { ...provider, base_url: `http://${denies}/v1` },
  };
  const models = { fast: ['bad:m', 'good:m'] };
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'adjutant.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers(denies, breaks), providers, models }));
  const url = redis.url.replace('redis://', `redis://default:${password}@`);
  const keys = { MODEL_KEY: secret('model-key'), MODEL_HEADER: secret('model-header') };
  const env = { REDIS_URL: url, ...keys, ADJUTANT_LOG_LEVEL: 'trace' };
  const connection = connectRedis(redis.url, 'commands') as Redis;
  await connection.config('SET', 'requirepass', password);
  await closeRedis(connection);

  const service = spawnNode([PROGRAM, 'up', '--config', file, '--port', '0'], { env });
  onTestFinished(async () => void (await service.kill9()));
  const baseUrl = /http\S+/.exec(await service.waitForLine(/^adjutant listens on/))?.[0] ?? '';
  const client = createHttpClient({ baseUrl });
  const said: unknown[] = [];
  for (const server of ['denies', 'breaks', 'away', 'bearer', 'babbles']) {
    const call = { type: 'tool_exec', tool_name: `${server}.x`, server, deadline_ms: 3_000 } as const;
    said.push(await client.execute(call, { timeoutMs: 90_000 }));
  }
  const context = [{ role: 'user' as const, content: 'hi' }];
  const asks: SubmittedDirective[] = ['good:m', 'bad:m', 'fast'].flatMap((model) => [
    { type: 'llm_generate', model, context },
    { type: 'llm_stream', model, context },
    { type: 'llm_embed', model, texts: ['hi'] },
  ]);
  for (const ask of asks) {
    const end = await client.execute(ask, { timeoutMs: 90_000 });
    said.push(end, await client.page(end.subject), await client.request(end.subject));
  }
  // Arguments that look secret are hidden from followers; the tool gets them unchanged.
  const named = {
    apiKey: 1,
    accessToken: 1,
    authorization: 1,
    password: 1,
    'x-api-key': 1,
    nested: { clientSecret: 1 },
  };
  const given = JSON.parse(JSON.stringify(named).replaceAll(':1', `:"${secret('tool-argument')}"`)) as object;
  const call = { type: 'tool_exec', tool_name: 'works.echo', arguments: { ...given } } as const;
  const end = await client.execute(call, { timeoutMs: 90_000 });
  const page = await client.page(end.subject);
  said.push(end, page, await client.tools(), await client.lanes(), await client.deadLetters());
  for (const path of ['healthz', 'readyz', 'metrics', 'openapi.json', 'v1/tools'])
    said.push(await (await fetch(`${baseUrl}/${path}`)).text());
  const doctor = spawnNode([PROGRAM, 'doctor', '--config', file], {
    env: { ...env, ADJUTANT_URL: baseUrl },
  });
  await doctor.exited;
  await client.close();
  await service.stop();

  const outputs = {
    said: JSON.stringify(said),
    service: service.lines.join('\n'),
    doctor: doctor.lines.join('\n'),
  };
  // The searched data belongs to the run: the refusals and the good call are in it.
  expect(outputs.said).toMatch(/denied access/);
  expect(outputs.said).toContain('Hi there.');
  expect(outputs.said).toContain('wrong: ');
  expect(outputs.said).toMatch(/\[REDACTED\]/);
  expect(outputs.doctor).toMatch(/babbles/);
  const places = Object.fromEntries(
    Object.entries(outputs).map(([place, text]) => [place, text.match(/.{0,60}canary-[a-z-]+-x7Qp/g) ?? []]),
  );
  expect(places).toEqual({ said: [], service: [], doctor: [] });
  // The arguments of a directive are kept until it is deleted: they are executed.
  const written = everythingWritten(redis).match(/canary-[a-z-]+-x7Qp/g) ?? [];
  expect(written.filter((found) => found !== secret('tool-argument'))).toEqual([]);
});
