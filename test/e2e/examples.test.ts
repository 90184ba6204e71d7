/** The examples with modules, each in a service as a person starts it: a scripted model, a real MCP server, a real receiver.
 *  It must not import the examples: the service loads them. */
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { untilHolds } from '../support/eventually.ts';
import { type Child, freePort, spawnNode } from '../support/process.ts';
import { useRedis } from '../support/shared.ts';
import { PROGRAM } from '../support/program.ts';

const FOLDER = 'examples/modules';
const NO_KEYS = { ANTHROPIC_API_KEY: undefined, OPENAI_API_KEY: undefined, GEMINI_API_KEY: undefined };

const redis = useRedis();
let receiver: Child;
let receiverUrl: string;
let up: Child;
let client: DirectiveClient;

async function startUp(env: Record<string, string> = {}, folder = FOLDER) {
  const args = [
    '--conditions=adjutant-source',
    PROGRAM,
    'up',
    '--config',
    `${folder}/adjutant.json`,
    '--port',
    '0',
  ];
  const child = spawnNode(args, { env: { ...NO_KEYS, REDIS_URL: redis.url, ...env } });
  const line = await child.waitForLine(/^adjutant listens on/);
  return { child, client: createHttpClient({ baseUrl: /http:\S+/.exec(line)?.[0] ?? '' }) };
}

beforeAll(async () => {
  const port = await freePort();
  receiver = spawnNode([`${FOLDER}/receiver.ts`, String(port)]);
  receiverUrl = /http:\S+/.exec(await receiver.waitForLine(/^receives on/))?.[0] ?? '';
  const started = await startUp({ BRIEFING_URL: receiverUrl });
  ({ child: up, client } = started);
});
afterAll(async () => {
  await client?.close();
  await up?.stop();
  await receiver?.stop();
});

async function logOf(requestId: string, from = client): Promise<Signal[]> {
  const read: Signal[] = [];
  for await (const signal of from.signals(requestId)) read.push(signal);
  return read;
}

/** What the receiver reports about the message with this text: both lines of its key. */
function callsWith(words: string): string[] {
  const key = receiver.lines.find((line) => line.includes(words))?.split(' ')[0] ?? 'none';
  return receiver.lines
    .filter((line) => line.startsWith(key))
    .map((line) => line.split(' ').slice(1, 3).join(' '));
}

describe('the strategy', () => {
  test('reads its files, has the model write about them, and posts it once', async () => {
    const { request_id: id } = await client.runs.start({ agent: 'briefing', query: 'What happened?' });
    const types = (await logOf(id)).map(({ type }) => type).filter((type) => type !== 'ai.llm.delta');
    expect(types).toEqual([
      'ai.request.started',
      'ai.tool.started',
      'ai.tool.started',
      'ai.tool.result',
      'ai.tool.result',
      'ai.usage',
      'ai.llm.response',
      'directive.retry_scheduled',
      'directive.result',
      'ai.request.completed',
    ]);
    const run = (await client.request(id))?.run;
    expect(run).toMatchObject({ status: 'completed', strategy: 'briefing', tool_calls: 2 });
    expect(run?.result).toContain('The Halcyon made casts');
    expect(JSON.stringify(run?.messages)).toMatch(/longest of this leg.*spare winch clutch/);
    expect(callsWith('The Halcyon made casts')).toEqual(['call 1:', 'call 2:']);
  });

  test('posts nothing when a file may not be read, and says why', async () => {
    const overrides = { approvals: { '*': 'deny' as const } };
    const { request_id: id } = await client.runs.start({ agent: 'briefing', query: 'Anything?', overrides });
    const log = await logOf(id);
    expect(log.at(-1)).toMatchObject({ type: 'ai.request.failed', data: { error: { type: 'denied' } } });
    expect(log.map(({ type }) => type)).not.toContain('directive.result');
  });
});

describe('the custom directive', () => {
  test('is submitted alone, retried under the same key, and not done twice', async () => {
    const post = {
      type: 'webhook',
      id: 'hello',
      url: receiverUrl,
      body: { hello: 'direct' },
      max_retries: 1,
    };
    const ended = await client.execute(post as never);
    expect(ended).toMatchObject({
      type: 'directive.result',
      data: { directive_type: 'webhook', result: { ok: true, payload: { status: 200, text: 'taken' } } },
    });
    const again = await client.submit({ ...post, request_id: ended.subject } as never);
    expect(again.directives).toMatchObject([{ status: 'existing' }]);
    expect(callsWith('direct')).toEqual(['call 1:', 'call 2:']);
  });

  test('ends in an error when its retries are used up, and is refused when it is invalid', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    expect(await client.execute({ type: 'webhook', url: nowhere, body: 1 } as never)).toMatchObject({
      data: { result: { ok: false, error: { type: 'network', retryable: true } } },
    });
    const refused = await client
      .submit({ type: 'webhook', url: 'ftp://x', body: 1, to: 1 } as never)
      .catch((error) => error);
    expect(refused.problem.errors.map(({ path }: { path: string }) => path)).toEqual(['url', 'to']);
  });

  test('is done again under the same key when its worker is killed in the middle', async () => {
    const keys: unknown[] = [];
    const arrived = Promise.withResolvers<void>();
    const server = createServer((request: IncomingMessage, response) => {
      keys.push(request.headers['idempotency-key']);
      arrived.resolve();
      if (keys.length > 1) response.end('taken');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const own = { ADJUTANT_PREFIX: 'killed', ADJUTANT_LOG_LEVEL: 'silent' };
    const first = await startUp(own);
    const { request_id: id } = await first.client.submit({ type: 'webhook', id: 'w', url, body: 1 } as never);
    await arrived.promise;
    await first.child.kill9();
    const second = await startUp(own);
    try {
      expect(await second.client.result(id, 'w', { timeoutMs: 90_000 })).toMatchObject({
        data: { result: { ok: true }, metadata: { redeliveries: 1 } },
      });
      expect(keys).toEqual([keys[0], keys[0]]);
    } finally {
      await first.client.close();
      await second.client.close();
      await second.child.stop();
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('an example', () => {
  test.each(['webhook.ts', 'briefing.ts'])('%s is short, and needs only what the documents name', (file) => {
    const source = readFileSync(`${FOLDER}/${file}`, 'utf8');
    expect(source.split('\n').length).toBeLessThan(60);
    const imported = [...source.matchAll(/from '([^']+)'/g)].map(([, name]) => name);
    expect(imported).toEqual(['adjutant/engine', 'zod']);
  });
});

describe('the control tools', () => {
  test('of examples/control plan a ticket, delegate a part of it, and end the run', async () => {
    const own = { ADJUTANT_PREFIX: 'control', ADJUTANT_LOG_LEVEL: 'silent' };
    const started = await startUp(own, 'examples/control');
    try {
      await untilHolds(async () => {
        const { tools } = await started.client.tools();
        expect(tools.map(({ name }) => name)).toContain('control.complete');
      });
      const { request_id: id } = await started.client.runs.start({
        agent: 'lead',
        query: 'Work on ticket 7',
      });
      const log = await logOf(id, started.client);
      const result = 'Ticket 7: the whistle is replaced, and how to test it is known.';
      expect(log.at(-1)).toMatchObject({ type: 'ai.request.completed', data: { result } });
      const run = (await started.client.request(id))?.run;
      expect(run?.children).toMatchObject([{ status: 'completed' }]);
      expect(JSON.stringify(run?.messages)).toContain('[DELEGATION COMPLETE: tester] Boil water.');
    } finally {
      await started.client.close();
      await started.child.stop();
    }
  });
});

test('the demo kills a worker in the middle of a tool that must not run twice, and its counter stays at 1', async () => {
  const demo = spawnNode(['--conditions=adjutant-source', 'scripts/demo.ts'], { env: { NO_COLOR: '1' } });
  expect(await demo.exited, demo.lines.join('\n')).toMatchObject({ code: 0 });
  expect(demo.lines.join('\n')).toMatch(
    /kill -9 \d+[^]*charge outcome_unknown[^]*balance \(redelivered 1×\)[^]*\n1 charge [^]*\n2 balance /,
  );
});

test('the demo of an agent kills it twice, and neither its bill nor its refunds count twice', async () => {
  const demo = spawnNode(['--conditions=adjutant-source', 'scripts/demo.ts', 'agent'], {
    env: { NO_COLOR: '1' },
  });
  expect(await demo.exited, demo.lines.join('\n')).toMatchObject({ code: 0 });
  expect(demo.lines.join('\n')).toMatch(
    /(?:kill -9 \d+[^]*){2}answer: All refunded\.\nmodel turns paid for: 3; refunds of A: 2 of 2, of B: 1 of 1\n/,
  );
});
