/** The service that the suite tests as a server: API, engine, worker and a Redis, with the fixture as its MCP server.
 *  It must never be reached under another name than /mcp/fixture: the suite asks for the tools' own names. */
import { setTimeout as wait } from 'node:timers/promises';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { startRedis } from '../support/redis.ts';
import { startService } from '../support/running-service.ts';

export interface FixtureService extends AsyncDisposable {
  /** Of the MCP endpoint. */
  readonly url: string;
}

/** The longest call of the suite that nobody cancels takes 90 s. */
const TIMEOUT_MS = 120_000;
const LISTED_WITHIN_MS = 30_000;
const AGAIN_MS = 50;

export async function startFixtureService(): Promise<FixtureService> {
  const redis = await startRedis();
  const fixture = {
    ...ownServerEntry('conformance-fixture.ts'),
    questions: true,
    lane: { timeout_ms: TIMEOUT_MS },
  };
  const service = await startService({ redisUrl: redis.url, config: { mcpServers: { fixture } } });
  const stop = async (): Promise<void> => {
    await service.stop();
    await redis.stop();
  };
  try {
    await untilListed(service.url);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `${service.url}/mcp/fixture`, [Symbol.asyncDispose]: stop };
}

/** Outside of a test too. */
export async function untilListed(url: string, key = ''): Promise<void> {
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` };
  const until = performance.now() + LISTED_WITHIN_MS;
  while (performance.now() < until) {
    const { tools } = (await (await fetch(`${url}/v1/tools`, { headers })).json()) as {
      tools: readonly unknown[];
    };
    if (tools.length > 0) return;
    await wait(AGAIN_MS);
  }
  throw new Error('No worker has listed the tools of the fixture.');
}
