/** Resources, prompts and completions of the servers behind `/mcp`, through the clients of both eras.
 *  It must not look into the server: only the clients, the public API and Redis' own clock of a request. */
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { untilListed } from '../../../support/eventually.ts';
import { ERAS, openHost } from '../../../support/mcp-clients.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { get, post } from '../../../support/public-api.ts';
import { startRedis } from '../../../support/redis.ts';
import { startService } from '../../../support/running-service.ts';
import { shared } from '../../../support/shared.ts';

/** `shelf` shows all it has; `twin` has the same, and shows its resources and one tool only. */
const service = shared(async () => {
  const redis = await startRedis();
  const entry = ownServerEntry('conformance-fixture.ts');
  const twin = { ...entry, expose: ['greet'], expose_resources: true };
  const config = { mcpServers: { shelf: entry, twin } };
  const running = await startService({ redisUrl: redis.url, config });
  await untilListed(running.url, 'shelf.greet', 'twin.greet');
  const looking = new Redis(redis.url);
  return {
    url: `${running.url}/mcp`,
    api: running.url,
    looking,
    async [Symbol.asyncDispose]() {
      looking.disconnect();
      await running.stop();
      await redis.stop();
    },
  };
});

const STATIC = 'test://static-text';

function each(list: unknown, member: string): unknown[] {
  return (list as Record<string, unknown>[]).map((item) => item[member]);
}

describe.each(ERAS)('a %s client', (era) => {
  test('lists the resources of all servers, those of the same URI under the addresses of their servers', async () => {
    await using host = await openHost(era, service.url);
    const { resources } = await host.ask('resources/list');
    expect(each(resources, 'uri')).toEqual(
      ['shelf', 'twin'].flatMap((server) => [
        `adjutant:${server}/${STATIC}`,
        `adjutant:${server}/test://static-binary`,
        `adjutant:${server}/test://watched-resource`,
      ]),
    );
    await using one = await openHost(era, `${service.url}/twin`);
    const { resourceTemplates } = await one.ask('resources/templates/list');
    expect(each(resourceTemplates, 'uriTemplate')).toEqual(['test://template/{id}/data']);
  });

  test('reads a resource by its address, or by its own URI where one server is meant', async () => {
    await using host = await openHost(era, service.url);
    const addressed = `adjutant:shelf/test://template/7/data`;
    const { contents } = await host.ask('resources/read', { uri: addressed });
    expect(contents).toMatchObject([{ uri: addressed, text: expect.stringContaining('"id":"7"') as string }]);
    await using one = await openHost(era, `${service.url}/shelf`);
    expect(await one.ask('resources/read', { uri: STATIC })).toMatchObject({ contents: [{ uri: STATIC }] });
  });

  test('is refused with the addresses where several servers may be meant, and with the server’s error', async () => {
    await using host = await openHost(era, service.url);
    const several = `read one of adjutant:shelf/${STATIC}, adjutant:twin/${STATIC}`;
    await expect(host.ask('resources/read', { uri: STATIC })).rejects.toThrow(several);
    await expect(host.ask('resources/read', { uri: 'adjutant:shelf/test://no' })).rejects.toThrow(
      'test://no',
    );
  });

  test('lists, gets and completes the prompts that are passed on, under the names of tools', async () => {
    await using host = await openHost(era, service.url);
    const { prompts } = await host.ask('prompts/list');
    expect(each(prompts, 'name')).toEqual([
      'shelf__test_simple_prompt',
      'shelf__test_prompt_with_arguments',
      'shelf__test_prompt_with_embedded_resource',
      'shelf__test_prompt_with_image',
    ]);
    const name = 'shelf__test_prompt_with_arguments';
    const { messages } = await host.ask('prompts/get', { name, arguments: { arg1: 'a', arg2: 'b' } });
    expect(messages).toMatchObject([{ content: { text: "Prompt with arguments: arg1='a', arg2='b'" } }]);
    const ref = { type: 'ref/prompt', name };
    const completed = await host.ask('completion/complete', { ref, argument: { name: 'arg1', value: 'pa' } });
    expect(completed).toMatchObject({ completion: { values: ['paris'] } });
  });

  test('sees nothing of what a server does not pass on', async () => {
    await using host = await openHost(era, `${service.url}/twin`);
    expect(await host.ask('prompts/list')).toMatchObject({ prompts: [] });
    await expect(host.ask('prompts/get', { name: 'test_simple_prompt' })).rejects.toThrow('Unknown prompt');
  });
});

test('who knows the name of a read gets no further over the HTTP API, and the request is gone within a minute', async () => {
  const read = async (id: string, tool_name: string) => {
    const directive = { type: 'tool_exec', request_id: 'mcp.read.api', id, server: 'twin', tool_name };
    const { body } = await post<{ directives: object[] }>(
      `${service.api}/v1/directives?wait_ms=30000`,
      directive,
    );
    return body.directives[0];
  };
  expect(await read('1', 'mcp:prompts/list')).toMatchObject({
    result: { data: { result: { error: { type: 'unknown_tool' } } } },
  });
  expect(await read('2', 'mcp:resources/templates/list')).toMatchObject({
    result: { data: { result: { payload: { result: { resourceTemplates: [{ name: 'template' }] } } } } },
  });
  const keys = await service.looking.keys('*mcp.read.api*');
  const times = await Promise.all(keys.map(async (key) => service.looking.pttl(key)));
  expect(times.length).toBeGreaterThan(0);
  expect(times.filter((ms) => ms < 0 || ms > 60_000)).toEqual([]);
  const { body } = await get<{ items: { request_id: string }[] }>(`${service.api}/v1/dead-letters`);
  expect(JSON.stringify(body)).not.toContain('mcp.read.api');
});

const OF_READ = { request_id: 'mcp.read.payment' };
const READ = { ...OF_READ, type: 'tool_exec', server: 'twin', tool_name: 'mcp:prompts/list' };
const CALL = { ...READ, tool_name: 'greet' };

test.each([
  ['a call', '/v1/directives', CALL, 'request_id'],
  ['a call beside a read', '/v1/directives', { directives: [READ, CALL] }, 'directives[1].request_id'],
  ['a run', '/v1/requests', { ...OF_READ, agent: 'default', query: 'pay' }, 'request_id'],
])('%s under the request id of a read is refused: it would be forgotten', async (_, path, work, at) => {
  const refused = await post(`${service.api}${path}`, work);
  expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path: at }] } });
  expect(await service.looking.keys('*mcp.read.payment*')).toEqual([]);
});
