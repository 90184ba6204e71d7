/** Looks at what the service depends on, the way the service itself would: its Redis and its MCP servers.
 *  It must never change anything, nor call a tool. */
import { fault, fine, type Finding } from './cli/finding.ts';
import type { Config } from './config.ts';
import { createMcpPool } from './mcp/pool.ts';
import { closeRedis, connectRedis } from './redis.ts';
import { type RedisFacts, redisFacts, unfitness } from './redis-fitness.ts';
import { serverOptions } from './tool-wiring.ts';

const SERVER_LIMIT_MS = 20_000;

export async function examineRedis(url: string): Promise<Finding[]> {
  const connection = connectRedis(url, 'submit');
  const startedAt = performance.now();
  try {
    const facts = await redisFacts(connection);
    return redisFindings(facts, performance.now() - startedAt);
  } catch (error) {
    const says = `does not answer at ${withoutPassword(url)}: ${(error as Error).message}`;
    return [fault('redis', says, 'Start it, or correct REDIS_URL.')];
  } finally {
    await closeRedis(connection);
  }
}

/** Version and eviction decide whether the service starts at all, persistence whether a restart of Redis forgets. */
function redisFindings(facts: RedisFacts, latencyMs: number): Finding[] {
  const unfit = unfitness(facts).map((problem) => {
    const [says = '', fix = ''] = problem.split(': ');
    return fault('redis', says, `${fix.charAt(0).toUpperCase()}${fix.slice(1)}`);
  });
  const says = `version ${facts.version}, ${facts.mode}, ${facts.evictionPolicy}, answered in ${Math.round(latencyMs)} ms`;
  return [...(unfit.length > 0 ? unfit : [fine('redis', says)]), persistence(facts)];
}

function persistence({ appendOnly, appendFsync }: RedisFacts): Finding {
  const subject = 'persistence';
  if (!appendOnly) {
    const fix = 'Set `appendonly yes` in its configuration (CONFIG SET appendonly yes, CONFIG REWRITE).';
    return fault(subject, 'appendonly is off: a restart of Redis forgets accepted directives', fix);
  }
  if (appendFsync === 'no') {
    const fix = 'Set `appendfsync everysec`, or `always` when not even a second may be lost.';
    return fault(subject, 'appendfsync is no: a power cut may lose many seconds', fix);
  }
  return fine(subject, `append-only file, fsync ${appendFsync ?? 'as the operator set it'}`);
}

/** One finding a server, as each is known. */
export async function examineServers(config: Config): Promise<Finding[]> {
  const startedAt = performance.now();
  const waits = new Map(
    [...config.mcpServers.keys()].map((name) => [name, Promise.withResolvers<Finding>()]),
  );
  const settle = (server: string, finding: Finding): void => waits.get(server)?.resolve(finding);
  const pool = createMcpPool({
    servers: [...config.mcpServers].map(([name, server]) => serverOptions(name, server, config.directory)),
    onTools: (server, tools) => settle(server, listed(server, tools.length, performance.now() - startedAt)),
    onStatus: (server, status, error) => {
      if (status === 'unavailable') settle(server, unreachable(server, error ?? 'no reason given'));
    },
    logger: silent,
  });
  const limit = setTimeout(() => {
    for (const server of waits.keys())
      settle(server, unreachable(server, `no answer in ${SERVER_LIMIT_MS} ms`));
  }, SERVER_LIMIT_MS);
  try {
    pool.start();
    return await Promise.all([...waits.values()].map(({ promise }) => promise));
  } finally {
    clearTimeout(limit);
    await pool.stop();
  }
}

function listed(server: string, tools: number, latencyMs: number): Finding {
  return fine(
    `mcp ${server}`,
    `${tools} ${tools === 1 ? 'tool' : 'tools'}, listed after ${Math.round(latencyMs)} ms`,
  );
}

function unreachable(server: string, error: string): Finding {
  return fault(
    `mcp ${server}`,
    error,
    `Check mcpServers.${server} in adjutant.json: start it by hand to see what it says.`,
  );
}

const silent = { debug: () => {}, info: () => {}, warn: () => {} };

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//…@');
}
