/** The service in the process of the test, on a Redis of the test: its own key prefix, a free port, real MCP servers.
 *  It must never share keys with another one on the same Redis, unless it is told to. */
import { randomUUID } from 'node:crypto';
import { parseConfig } from '../../src/config/config.ts';
import { loadModules } from '../../src/agents/modules/modules.ts';
import type { Roles } from '../../src/service/roles/roles.ts';
import { createService } from '../../src/service/service.ts';
import { ownServerEntry } from './mcp-servers.ts';

export interface RunningService {
  /** Of the API; empty without that role. */
  readonly url: string;
  /** Of the listener for metrics; empty without one. */
  readonly metricsUrl: string;
  readonly prefix: string;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface RunningServiceOptions {
  readonly redisUrl: string;
  /** Default: all. */
  readonly roles?: Roles;
  /** Default: a new one. */
  readonly prefix?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** More variables. Default: none. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The rest of adjutant.json. Default: nothing. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The server `peer`: one tool for each thing that a server can do to its client. */
const mcpServers = { peer: ownServerEntry('legacy-peer.ts') };

export async function startService(options: RunningServiceOptions): Promise<RunningService> {
  const {
    redisUrl,
    roles = { api: true, engine: true, worker: true },
    prefix = `test-${randomUUID()}`,
    port = 0,
  } = options;
  const raw = { mcpServers, worker: { drain_ms: 0 }, ...options.config };
  const environment = {
    REDIS_URL: redisUrl,
    ADJUTANT_PREFIX: prefix,
    ADJUTANT_PORT: String(port),
    ADJUTANT_LOG_LEVEL: 'silent',
    ...options.environment,
  };
  const config = parseConfig(raw, { source: 'test', directory: process.cwd(), environment });
  const service = await createService(config, roles, { modules: await loadModules(config) });
  await service.start();
  const stop = async (): Promise<void> => service.stop();
  const urls = { url: service.url ?? '', metricsUrl: service.metricsUrl ?? '' };
  return { ...urls, prefix, stop, [Symbol.asyncDispose]: stop };
}
