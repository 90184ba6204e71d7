/** A worker process as far as logins go: a pool with one server, and a token source beside it, over the Redis of the test.
 *  It must never end by itself. On stdin: `call <count> <tool>` calls at once; `token <lease ms>` asks for the token. */
import { createInterface } from 'node:readline';
import { createMcpPool } from '../../../src/mcp/pool.ts';
import { createTokenSource } from '../../../src/mcp/oauth/token-source.ts';
import { connectRedis } from '../../../src/platform/redis/connection.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';
import { TRACEPARENT } from '../mcp-pool.ts';
import { type OAuthServer, storeOn } from '../oauth.ts';

interface Given {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly key: string;
  readonly server: OAuthServer;
}

const print = (line: unknown): void => console.log(JSON.stringify(line));
const { redisUrl, prefix, key, server } = JSON.parse(process.argv[2] ?? '{}') as Given;
const logins = storeOn(connectRedis(redisUrl, 'commands'), prefix, Buffer.from(key, 'hex'));
const pool = createMcpPool({ servers: [server], logger: SILENT, logins });

async function call(tool: string): Promise<string> {
  const outcome = await pool.call({
    server: server.name,
    tool,
    arguments: {},
    signal: new AbortController().signal,
    timeoutMs: 40_000,
    maxTotalMs: 60_000,
    traceparent: TRACEPARENT,
    idempotencyKey: 'request/directive',
  });
  return outcome.kind === 'failed' ? `${outcome.error.type}: ${outcome.error.message}` : outcome.kind;
}

async function token(leaseMs: number): Promise<string> {
  const { name, transport } = server;
  const { url: serverUrl, auth } = transport;
  const source = createTokenSource({ server: name, serverUrl, auth, store: logins, leaseMs });
  return (await source.token()) === undefined ? 'none' : 'a token';
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb = '', number = '1', tool = ''] = line.split(' ');
  const asked =
    verb === 'token' ? [token(Number(number))] : Array.from({ length: Number(number) }, () => call(tool));
  void Promise.all(asked).then((ends) => print({ ends }));
});
print({ ready: true });
