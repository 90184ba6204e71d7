/** Two stores with key prefixes of their own in one process: they share its MCP servers and providers, and nothing else.
 *  It must not start a second pool: whether a server is started once is what it shows. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../../src/config/config.ts';
import { createRegistry } from '../../../src/worker/executors/registry.ts';
import { NO_MODULES } from '../../../src/agents/modules/modules.ts';
import { startAll, stopAll } from '../../../src/platform/lifecycle.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { type Adapters, createAdapters } from '../../../src/service/adapters.ts';
import { createAnnouncer } from '../../../src/service/announcer.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { createExecution } from '../../../src/service/roles/execution.ts';
import { createWorkerRole } from '../../../src/service/roles/worker-role.ts';
import { type Logger, SILENT } from '../../../src/platform/telemetry/logger.ts';
import { countingCall } from '../../support/calls.ts';
import { eventually } from '../../support/eventually.ts';
import { uniquePrefix } from '../../support/journal.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { useRedis } from '../../support/shared.ts';
import { testStore } from '../../support/store.ts';

const REQUEST = 'the-same-id-in-both';
const TOOLS = ['counting.read', 'counting.idempotent', 'counting.once'];

const redis = useRedis();

/** The part of a process that every store shares. `started`: the pids of the server's processes that became ready. */
function openProcess({ startsWith }: { startsWith?: string } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'executions');
  const entry = ownServerEntry('counting.ts', { COUNTER_FILE: file });
  const needed = startsWith === undefined ? null : join(folder, startsWith);
  const raw = { mcpServers: { counting: needed === null ? entry : startingWith(needed, entry) } };
  const config = parseConfig(raw, { source: 'test', directory: folder, environment: {} });
  const started: unknown[] = [];
  const info: Logger['info'] = (fields, message) =>
    void (message === 'MCP server ready' && started.push(fields['pid']));
  const adapters = createAdapters({ config, logger: { ...SILENT, info } });
  onTestFinished(async () => void (await stopAll(adapters.parts)));
  const executions = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { pid: number; label: string });
  return { config, adapters, started, executions, folder };
}

/** The server, which exits with code 1 until there is a file. */
function startingWith(needed: string, entry: ReturnType<typeof ownServerEntry>) {
  const program = 'test -e "$0" && exec "$@" || exit 1';
  return { ...entry, command: 'sh', args: ['-c', program, needed, entry.command, ...entry.args] };
}

/** A store with its worker, and a client of it. */
async function openTenant(config: ReturnType<typeof openProcess>['config'], adapters: Adapters) {
  const prefix = uniquePrefix();
  const [connection, listening] = [
    connectRedis(redis.url, 'commands'),
    connectRedis(redis.url, 'subscriber'),
  ];
  const store = testStore(connection, { prefix });
  const onError = (error: Error): void => expect.fail(error.message);
  const settings = {
    config,
    modules: NO_MODULES,
    processId: randomUUID(),
    redisUrl: redis.url,
    logger: SILENT,
    onError,
  };
  const execution = createExecution(store, adapters, settings);
  const registry = createRegistry(execution.definitions);
  const worker = createWorkerRole(store, listening, { ...execution, registry }, settings);
  const parts = [createAnnouncer(execution.announced, onError), ...worker.parts];
  const client = await createDirectClient({ redisUrl: redis.url, prefix });
  onTestFinished(async () => {
    await client.close();
    await stopAll(parts);
    await store.close();
    await Promise.all([closeRedis(connection), closeRedis(listening)]);
  });
  await startAll(parts);
  return client;
}

test('stores of two prefixes share one process of a server: both list its tools, and a call of each ends once', async () => {
  const { config, adapters, started, executions } = openProcess();
  const first = await openTenant(config, adapters);
  await startAll(adapters.parts);
  const listed = async (client: typeof first) => (await client.tools()).tools.map(({ name }) => name);
  await eventually(() => listed(first)).toEqual(TOOLS);
  // The server has reported its tools before this store is there.
  const second = await openTenant(config, adapters);
  await eventually(() => listed(second)).toEqual(TOOLS);

  const labels = await Promise.all(
    [first, second].map(async (client, number) => {
      const call = countingCall('once', number, { requestId: REQUEST });
      expect(await client.execute(call)).toMatchObject({ data: { result: { ok: true } } });
      const { signals } = await client.page(REQUEST);
      expect(signals.map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
      return call.id;
    }),
  );

  expect(
    executions()
      .map(({ label }) => label)
      .sort(),
  ).toEqual(labels);
  expect(started).toHaveLength(1);
  expect(executions().map(({ pid }) => pid)).toEqual([started[0], started[0]]);
});

test('a call to a server that is down does not begin: it waits, costs no attempt, and is made as the server is there', async () => {
  const { config, adapters, executions, folder } = openProcess({ startsWith: 'switch' });
  const client = await openTenant(config, adapters);
  await startAll(adapters.parts);
  const server = async () => (await client.tools()).servers[0];
  await eventually(server).toMatchObject({ status: 'unavailable', error: 'exited with code 1' });
  const call = countingCall('once', 1, { requestId: REQUEST });
  await client.submit(call);
  const triedAt = (await server())?.updated_at;
  // Its worker has tried the server again since.
  await eventually(async () => (await server())?.updated_at !== triedAt).toBe(true);
  expect((await client.page(REQUEST)).signals).toEqual([]);
  writeFileSync(join(folder, 'switch'), '');

  expect(await client.result(REQUEST, call.id)).toMatchObject({
    data: { result: { ok: true }, metadata: { attempts: 1 } },
  });
  const { signals } = await client.page(REQUEST);
  expect(signals.map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
  expect((await client.request(REQUEST))?.directives).toMatchObject([{ attempts: 1, failures: 0 }]);
  expect(executions()).toHaveLength(1);
});
