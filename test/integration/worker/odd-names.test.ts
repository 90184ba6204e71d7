/** Tools, servers and directive types with names that every object inherits: from the catalog to the end of a call.
 *  It must never call a `once` tool a second time because of its name. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { parseConfig } from '../../../src/config/config.ts';
import { okResult } from '../../../src/contract/result.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import * as z from 'zod';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { defineDirective } from '../../../src/agents/modules/definitions.ts';
import type { QueuedDefinition } from '../../../src/worker/executors/definition.ts';
import { createRegistry } from '../../../src/worker/executors/registry.ts';
import { toolExec } from '../../../src/worker/executors/tool-exec.ts';
import { keySpace } from '../../../src/store/keys.ts';
import { createToolCatalog } from '../../../src/store/catalog/tool-catalog.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { mcpServers } from '../../../src/service/roles/mcp-servers.ts';
import { createToolRole } from '../../../src/service/roles/tool-role.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { INHERITED_NAMES } from '../../support/odd-names.ts';
import { errorOf, openPipeline } from '../../support/pipeline.ts';
import { useRedis } from '../../support/shared.ts';

const SERVER = fileURLToPath(new URL('../../support/servers/named-tools.mjs', import.meta.url));

const redis = useRedis();

/** A worker's tools on a real server with odd names. */
async function wired(server: string, effects: object = {}) {
  const connection = connectRedis(redis.url, 'commands');
  const catalog = createToolCatalog(connection, keySpace(`test-${randomUUID()}`));
  const command = { command: process.execPath, args: [SERVER, JSON.stringify(INHERITED_NAMES)], effects };
  const raw = JSON.parse(`{"mcpServers":{${JSON.stringify(server)}:${JSON.stringify(command)}}}`) as unknown;
  const config = parseConfig(raw, { source: 'test', directory: '/', environment: {} });
  const pool = mcpServers(config, { logger: SILENT });
  const wiring = createToolRole(pool, { config, catalog, processId: 'p', onError: () => {} });
  pool.start();
  await untilHolds(() => expect(pool.tools(server)).not.toBeNull());
  return {
    ...wiring,
    catalog,
    async locate(directive: ToolExec, lane: string) {
      const place = wiring.placeOf(directive, lane);
      return place && { tool: place.tool, repeatPolicy: await wiring.repeatPolicyOf(directive, place) };
    },
    [Symbol.asyncDispose]: async () => {
      await pool.stop();
      await closeRedis(connection);
    },
  };
}

test.each(['constructor', '__proto__', 'plain'])(
  'on the server %s every tool happens once',
  async (server) => {
    await using tools = await wired(server);
    const listed = async () =>
      (await tools.catalog.read())[0]?.tools.map(({ tool, effect }) => [tool, effect]);
    await eventually(listed).toEqual(INHERITED_NAMES.map((name) => [name, 'once']));
    for (const name of INHERITED_NAMES) {
      const directive = { type: 'tool_exec', tool_name: `${server}.${name}` } as ToolExec;
      expect(await tools.locate(directive, `tool.${server}`)).toEqual({
        tool: name,
        repeatPolicy: 'once',
      });
    }
  },
);

test('a repeat policy that is configured for such a name applies to that tool alone', async () => {
  await using tools = await wired('plain', { toString: 'read' });
  const effect = async (name: string) =>
    (await tools.locate({ tool_name: `plain.${name}` } as ToolExec, 'tool.plain'))?.repeatPolicy;
  expect([await effect('toString'), await effect('constructor')]).toEqual(['read', 'once']);
});

test.each(['constructor', '__proto__'])(
  'a worker that dies while it calls %s leaves an unknown outcome',
  async (name) => {
    await using open = await openPipeline(redis.url);
    await using tools = await wired('test');
    const directive = await open.accepted({ tool_name: `test.${name}` });
    await open.claimed(directive, 1);
    const execute = vi.fn(async () => ({ result: okResult(null) }));
    const parts = open.attemptParts(execute);
    const registry = createRegistry([{ ...(toolExec(tools) as QueuedDefinition), execute }]);
    await eventually(async () => (await open.attempt({ ...parts, registry }, directive)).kind).toBe('done');
    expect(errorOf(await open.resultOf(directive)).type).toBe('outcome_unknown');
    expect(execute).not.toHaveBeenCalled();
  },
);

test.each(['constructor', 'toString'])(
  'a large directive of the type %s is accepted into its own lane',
  async (type) => {
    const kind = defineDirective({
      type,
      mode: 'queued',
      schema: z.object({ text: z.string() }),
      execute: async () => ({ result: okResult(null) }),
    });
    const client = await createDirectClient({
      redisUrl: redis.url,
      prefix: `test-${randomUUID()}`,
      directives: [kind],
    });
    try {
      const submitted = { type, text: 'x'.repeat(400_000) } as unknown as Parameters<typeof client.submit>[0];
      expect(await client.submit(submitted)).toMatchObject({ directives: [{ lane: `custom.${type}` }] });
    } finally {
      await client.close();
    }
  },
);
