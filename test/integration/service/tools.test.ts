/** The entries that a worker writes into the tool catalog, about servers that it reaches and those it does not.
 *  It must not call a tool. */
import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { parseConfig } from '../../../src/config/config.ts';
import {
  type CatalogEntry,
  createToolCatalog,
  type ToolCatalog,
  toolListing,
} from '../../../src/store/catalog/tool-catalog.ts';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { keySpace } from '../../../src/store/keys.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { createAnnouncer } from '../../../src/service/announcer.ts';
import { mcpServers } from '../../../src/service/roles/mcp-servers.ts';
import { createToolRole } from '../../../src/service/roles/tool-role.ts';
import { namedTools } from '../../support/mcp-servers.ts';
import { eventually } from '../../support/eventually.ts';
import { useRedis } from '../../support/shared.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';

const STORED: CatalogEntry = {
  server: 'away',
  status: 'ready',
  tools: [{ name: 'away.look', server: 'away', tool: 'look', input_schema: {}, effect: 'read' }],
  updatedAt: 1,
};

const redis = useRedis();

/** A worker's role for one server; without a command it cannot be started. */
function roleOf(server: string, catalog: ToolCatalog, command: object = { command: '/no/such/program' }) {
  const raw = { mcpServers: { [server]: command } };
  const config = parseConfig(raw, { source: 'test', directory: '/', environment: {} });
  const pool = mcpServers(config, { logger: SILENT });
  return createToolRole(pool, { config, catalog, processId: randomUUID(), onError: () => {} });
}

test('the tools of an unreachable server stay listed with their repeat policies', async () => {
  const connection = connectRedis(redis.url, 'commands');
  const catalog = createToolCatalog(connection, keySpace(`test-${randomUUID()}`));
  await catalog.publish(STORED);
  const { pool, placeOf, repeatPolicyOf } = roleOf('away', catalog);
  try {
    pool.start();
    await eventually(async () => (await catalog.read())[0]?.status).toBe('unavailable');
    expect(await catalog.read()).toEqual([
      {
        ...STORED,
        status: 'unavailable',
        error: expect.any(String),
        updatedAt: expect.any(Number),
        blockedUntil: expect.any(Number),
        down: { sinceAt: expect.any(Number), tries: expect.any(Number) },
      },
    ]);
    const directive = { type: 'tool_exec', tool_name: 'away.look' } as ToolExec;
    const place = placeOf(directive, 'tool.away');
    expect(place).toMatchObject({ server: 'away', tool: 'look' });
    expect(place && (await repeatPolicyOf(directive, place))).toBe('read');
  } finally {
    await pool.stop();
    await closeRedis(connection);
  }
});

test('a tool with a wrong description is named in the catalog, beside the tools of its server', async () => {
  const connection = connectRedis(redis.url, 'commands');
  const catalog = createToolCatalog(connection, keySpace(`test-${randomUUID()}`));
  const { command, args } = namedTools([{ raw: { name: 'bad' } }, 'good']).transport;
  const { pool } = roleOf('some', catalog, { command, args });
  try {
    pool.start();
    await eventually(async () => (await catalog.read())[0]?.status).toBe('ready');
    expect(toolListing(await catalog.read())).toMatchObject({
      tools: [{ name: 'some.good' }],
      servers: [{ tools: 1, faults: [{ tool: 'bad', message: 'has no input schema, and is left out' }] }],
    });
  } finally {
    await pool.stop();
    await closeRedis(connection);
  }
});

test('a server whose last worker has deregistered is listed as not served', async () => {
  const connection = connectRedis(redis.url, 'commands');
  const clock = { now: Date.now() };
  const catalog = createToolCatalog(connection, keySpace(`test-${randomUUID()}`), () => clock.now);
  const served = async () =>
    (await catalog.read()).filter((entry) => entry.served !== false).map(({ server }) => server);
  const [first, second] = [roleOf('one', catalog), roleOf('two', catalog)];
  try {
    await first.announced.publish();
    await second.announced.publish();
    expect(await served()).toEqual(['one', 'two']);
    await first.announced.withdraw();
    clock.now += 20_000;
    expect(await served()).toEqual(['two']);
    expect(toolListing(await catalog.read()).servers.map(({ name }) => name)).toEqual(['two']);
    await second.announced.withdraw();
    clock.now += 20_000;
    expect(await served()).toEqual(['one', 'two']);
  } finally {
    await closeRedis(connection);
  }
});

test('an entry that Redis has lost is published again unchanged', async () => {
  const connection = connectRedis(redis.url, 'commands');
  const catalog = createToolCatalog(connection, keySpace(`test-${randomUUID()}`));
  await catalog.publish(STORED);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const role = roleOf('away', catalog);
  try {
    const announcer = createAnnouncer([role.announced], () => {});
    await announcer.start();
    const before = await catalog.read();
    expect(before).toMatchObject([{ tools: STORED.tools }]);
    await connection.flushall();
    vi.advanceTimersByTime(60_000);
    await eventually(() => catalog.read()).toEqual(before);
    await announcer.stop();
  } finally {
    vi.useRealTimers();
    await closeRedis(connection);
  }
});
