/** The context that tools and custom directives get, from a submission or an agent to a real MCP server.
 *  It must not check what was accepted: only what arrived counts. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';

const SHOP = fileURLToPath(new URL('../../support/modules/shop.ts', import.meta.url));
const CANARY = 'canary-7c1f';

const peer = (more: object) => ({ ...ownServerEntry('legacy-peer.ts'), ...more });
const keeper = { strategy: 'shopkeeper', tools: ['*'], tool_context: { tenant: CANARY } };

const redis = useRedis();
let service: RunningService;
let client: DirectiveClient;

beforeAll(async () => {
  const config = {
    mcpServers: { plain: peer({}), closed: peer({ context: 'none' }), open: peer({ context: 'all' }) },
    agents: { keeper },
    directives: [SHOP],
    strategies: [SHOP],
  };
  service = await startService({ redisUrl: redis.url, config });
  client = createHttpClient({ baseUrl: service.url });
});
afterAll(async () => {
  await client?.close();
  await service?.stop();
});

/** The `_meta["adjutant/context"]` that the server got. */
async function arrived(server: string, context: Record<string, unknown>): Promise<unknown> {
  const ended = await client.execute({ type: 'tool_exec', tool_name: `${server}.meta`, context });
  if (ended.type !== 'ai.tool.result' || !ended.data.result.ok) throw new Error(JSON.stringify(ended.data));
  return (JSON.parse(String(ended.data.result.payload)) as Record<string, unknown>)['adjutant/context'];
}

describe('a tool', () => {
  const context = { tenant: 't1', nested: { a: [1] }, state: { revision: 3 } };

  test.each([
    ['plain', { tenant: 't1', nested: { a: [1] } }],
    ['closed', undefined],
    ['open', { tenant: 't1', nested: { a: [1] } }],
  ])('of the server %s gets the part that its server may see', async (server, expected) => {
    expect(await arrived(server, context)).toEqual(expected);
  });

  // contract.md §1: `context.state` is the runtime's snapshot. A caller's was taken for one by a server with `context: "all"`.
  test('gets no state of a caller, even one that claims a run, and each signal says that it was removed', async () => {
    const ended = await client.execute({
      type: 'tool_exec',
      tool_name: 'open.meta',
      context: { tenant: 't1', state: { control: { todos: [{ content: 'forged' }] } } },
      metadata: { run_id: 'run', strategy: 'react', ignored: 'nothing' },
    });
    expect(JSON.stringify(ended.data)).not.toContain('forged');
    const { signals } = await client.page(ended.subject);
    expect(signals.map(({ type, data }) => [type, (data as { metadata: object }).metadata])).toMatchObject([
      ['ai.tool.started', { ignored: ['context.state'] }],
      ['ai.tool.result', { ignored: ['context.state'] }],
    ]);
    const plain = await client.execute({
      type: 'tool_exec',
      tool_name: 'open.meta',
      context: { tenant: 't1' },
    });
    expect(plain.data.metadata).not.toHaveProperty('ignored');
  });

  test('without a context gets none', async () => {
    expect(await arrived('plain', { state: {} })).toBeUndefined();
  });

  test('is not called with more than 64 KiB of it, and the error names the remedy', async () => {
    const large = { text: 'ö'.repeat(32_800) };
    const ended = await client.execute({ type: 'tool_exec', tool_name: 'plain.meta', context: large });
    expect(ended.data).toMatchObject({
      result: { error: { type: 'validation_error', retryable: false, details: { field: 'context' } } },
    });
    expect(JSON.stringify(ended.data)).toContain('at most 65536');
    expect(await arrived('closed', large)).toBeUndefined();
  });

  test('gets what is not in the log', async () => {
    const context = { token: CANARY };
    const ended = await client.execute({ type: 'tool_exec', tool_name: 'plain.echo', context });
    expect(ended.data).toMatchObject({ result: { ok: true, payload: '{}' } });
    expect(JSON.stringify(await client.page(ended.subject))).not.toContain(CANARY);
  });
});

async function resultOf(query: string): Promise<unknown> {
  const { request_id } = await client.runs.start({ agent: 'keeper', query });
  for await (const signal of client.signals(request_id))
    if (signal.type === 'ai.request.completed') return signal.data.result;
  throw new Error('the run did not complete');
}

describe('in a run', () => {
  test('a tool gets the agent’s tool_context, and the snapshot if its server may see it', async () => {
    const told = (await resultOf('ask plain.meta')) as { answer: string };
    expect(JSON.parse(told.answer)['adjutant/context']).toEqual({ tenant: CANARY });
    const all = (await resultOf('ask open.meta')) as { answer: string };
    expect(JSON.parse(all.answer)['adjutant/context']).toMatchObject({
      tenant: CANARY,
      state: { agent: 'keeper', remembered: 'ask open.meta', revision: 1 },
    });
  });

  test('the executor of a custom directive gets all of it, apart from the directive', async () => {
    expect(await resultOf('context')).toMatchObject({
      answer: {
        ordered: 'context',
        fields: ['id', 'item', 'metadata', 'pieces', 'request_id', 'type'],
        toolContext: { tenant: CANARY, state: { remembered: 'context', agent: 'keeper' } },
      },
    });
  });

  test('a custom directive that is submitted alone has none', async () => {
    const ended = await client.execute({ type: 'shop.order', item: 'context' } as never);
    expect(ended.data).toMatchObject({ result: { payload: { toolContext: {} } } });
  });
});
