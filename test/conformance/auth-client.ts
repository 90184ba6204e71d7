/** The client that the suite runs for its `auth/*` scenarios: a pool, and a person who logs in when the error says so.
 *  It must never know what a scenario checks, nor do what an operator or a person could not. */
import { randomUUID } from 'node:crypto';
import { createMcpPool, type McpPool } from '../../src/mcp/pool.ts';
import { createLoginStore } from '../../src/mcp/oauth/login-store.ts';
import { createSeal } from '../../src/mcp/oauth/seal.ts';
import type { OAuthOptions } from '../../src/mcp/server-options.ts';
import { SILENT } from '../../src/platform/telemetry/logger.ts';
import { memoryLogins } from '../support/memory-logins.ts';
import { TRACEPARENT } from '../support/mcp-pool.ts';
import { loginAt, type OAuthServer, TOKEN_KEY } from '../support/oauth.ts';

interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly issuer?: string;
}

const SERVER = 'conformance';
const METADATA_DOCUMENT = 'https://conformance-test.local/client-metadata.json';
/** A person does not log in for ever. */
const MAX_LOGINS = 3;

const url = process.argv.at(-1) ?? '';
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Context;
const auth = await configured();
const server: OAuthServer = { name: SERVER, transport: { kind: 'http', url, headers: {}, auth } };
const logins = createLoginStore({
  records: memoryLogins(),
  seal: createSeal([TOKEN_KEY]),
  principal: 'default',
});

for (let count = 0; ; count += 1) {
  const error = await used();
  process.stdout.write(`${error ?? 'served'}\n`);
  if (error === null || !error.includes('adjutant mcp login') || count === MAX_LOGINS) break;
  const before = (await logins.read(SERVER))?.login ?? null;
  const scopes = /--scope (?<scopes>[^`]+)`/.exec(error)?.groups?.['scopes']?.split(' ') ?? [];
  const login = await loginAt(server, { scopes, before });
  await logins.put(SERVER, { version: randomUUID(), login });
}

/** Lists the tools and calls each; the first error. null: all are served. */
async function used(): Promise<string | null> {
  const pool = createMcpPool({ servers: [server], logger: SILENT, logins });
  const listed = Promise.withResolvers<string | null>();
  pool.subscribe({
    onTools: () => listed.resolve(null),
    onStatus: (_server, status, error) => status === 'unavailable' && listed.resolve(error ?? 'unavailable'),
  });
  pool.start();
  try {
    const fault = await listed.promise;
    if (fault !== null) return fault;
    const ends = (pool.tools(SERVER) ?? []).map(({ name }) => callOn(pool, name));
    return (await Promise.all(ends)).find((error) => error !== null) ?? null;
  } finally {
    await pool.stop();
  }
}

async function callOn(pool: McpPool, tool: string): Promise<string | null> {
  const outcome = await pool.call({
    server: SERVER,
    tool,
    arguments: {},
    signal: new AbortController().signal,
    timeoutMs: 10_000,
    maxTotalMs: 20_000,
    traceparent: TRACEPARENT,
    idempotencyKey: `conformance/${tool}`,
  });
  return outcome.kind === 'failed' ? outcome.error.message : null;
}

/** As the operator writes it into the configuration, who knows the issuer of the account. */
async function configured(): Promise<OAuthOptions> {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: pem } = context;
  const { signing_algorithm: algorithm = '' } = context;
  const isAccount = scenario.startsWith('auth/client-credentials-');
  const hasSecret = clientSecret !== undefined || pem !== undefined;
  return {
    grant: isAccount ? 'client_credentials' : 'authorization_code',
    scopes: [],
    ...(clientId === undefined ? { clientMetadataUrl: METADATA_DOCUMENT } : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(pem === undefined ? {} : { privateKey: { pem, algorithm } }),
    ...(hasSecret ? { issuer: context.issuer ?? (await issuerOf()) } : {}),
  };
}

async function issuerOf(): Promise<string> {
  const { origin, pathname } = new URL(url);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: [issuer = ''] = [] } = (await response.json()) as {
    authorization_servers?: string[];
  };
  return issuer;
}
