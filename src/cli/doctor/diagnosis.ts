// Examines what the service depends on, as the service itself would: Redis and MCP servers.
// Must never change anything but a login that is due, nor call a tool or a model, nor show a key.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { advice, capitalized, fault, fine, type Finding } from './finding.ts';
import type { Config } from '../../config/config.ts';
import type { HttpServerConfig, McpServerConfig, StdioServerConfig } from '../../config/servers.ts';
import type { ConnectFault } from '../../mcp/connect-fault.ts';
import { probeServer, type Probe } from '../../mcp/probe.ts';
import { askRedis, RedisAway } from '../../platform/redis/reach.ts';
import {
  permissionFault,
  type RedisFacts,
  redisFacts,
  unfitness,
  type Unfitness,
} from '../../platform/redis/fitness.ts';
import { missingPermissions, type Permission } from '../../platform/redis/permissions.ts';
import type { LoginSummary } from '../../mcp/oauth/login.ts';
import { downloaderOf, type McpServerOptions } from '../../mcp/server-options.ts';
import { loginsOn } from '../../service/roles/logins.ts';
import { serverOptions } from '../../service/roles/mcp-servers.ts';

const SERVER_LIMIT_MS = 30_000;
/** Limit of a command that may download its server first: longer than the service waits for its handshake. */
const DOWNLOAD_LIMIT_MS = 100_000;
/** A server that has not answered by then is named, so that a person knows what the examination waits for. */
const SLOW_START_MS = 5_000;

export async function examineRedis(url: string, prefix: string): Promise<Finding[]> {
  try {
    return await askRedis(url, async (connection) => {
      const permissions = (await missingPermissions(connection, prefix)).map(permissionFinding);
      if (permissions.some(({ ok }) => !ok)) return permissions;
      const startedAt = performance.now();
      const facts = await redisFacts(connection);
      return [...redisFindings(facts, performance.now() - startedAt), ...permissions];
    });
  } catch (error) {
    const away = error instanceof RedisAway ? error : new RedisAway(url, error as Error);
    return [fault('redis', away.message, away.fix)];
  }
}

function permissionFinding(permission: Permission): Finding {
  const { says, remedy } = permissionFault(permission);
  const fix = `${capitalized(remedy)} to the user in REDIS_URL.`;
  return permission.isRequired ? fault('permissions', says, fix) : advice('permissions', says, fix);
}

/** Version and eviction decide whether the service starts; persistence decides whether a restart of Redis loses data. */
export function redisFindings(facts: RedisFacts, latencyMs: number): Finding[] {
  const problems = unfitness(facts);
  const about = (aspect: Unfitness['aspect'], subject: string, says: string): Finding => {
    const problem = problems.find((each) => each.aspect === aspect);
    return problem ? fault(subject, problem.says, `${capitalized(problem.remedy)}.`) : fine(subject, says);
  };
  const answers = `version ${facts.version}, ${facts.mode}, answered in ${Math.round(latencyMs)} ms`;
  return [
    about('version', 'redis', answers),
    about('eviction', 'eviction', facts.evictionPolicy),
    persistence(facts),
  ];
}

function persistence({ appendOnly, appendFsync }: RedisFacts): Finding {
  const subject = 'persistence';
  if (!appendOnly) {
    const fix = 'Set `appendonly yes` (CONFIG SET appendonly yes, then CONFIG REWRITE).';
    return fault(subject, 'appendonly is off: a restart of Redis loses accepted directives', fix);
  }
  if (appendFsync === 'no') {
    const fix =
      'Set `appendfsync always`, or `everysec` where the last seconds before a crash of Redis may be lost.';
    return fault(subject, 'appendfsync is no: a power cut may lose many seconds', fix);
  }
  const risk = appendFsync === 'everysec' ? ': a crash of Redis itself may cost the last second or two' : '';
  return fine(subject, `append-only file, fsync ${appendFsync ?? 'unknown'}${risk}`);
}

export interface ServerExamination {
  /** How long one server may take, milliseconds. Default: 30 000; 100 000 where its command may download it first. */
  readonly limitMs?: number;
  /** Gets a line about a server that has not answered after 5 s. */
  readonly onSlow?: (line: string) => void;
  /** Ends the examination; the rest counts as not answering. */
  readonly interrupt?: AbortSignal;
  /** The Redis with the logins. Default: none, and a server that needs one has a fault. */
  readonly redisUrl?: string | null;
}

/** One finding for each configured server, examined in parallel. They never reject. */
export function examineServers(config: Config, options: ServerExamination = {}): Promise<Finding>[] {
  return [...config.mcpServers].map(async ([name, server]) => {
    if (server.kind === 'module') return fine(`mcp ${name}`, `tools of the module ${server.module}`);
    const downloader = server.kind === 'stdio' ? downloaderOf(server.command) : null;
    const limitMs = downloader === null ? SERVER_LIMIT_MS : DOWNLOAD_LIMIT_MS;
    const slow = setTimeout(() => options.onSlow?.(slowText(name, downloader)), SLOW_START_MS);
    const probe = await probed(config, serverOptions(name, server, { ...config, agents: [] }), {
      limitMs,
      ...options,
    });
    clearTimeout(slow);
    const model = 'sampling' in server ? server.sampling?.model : undefined;
    return probe.ok
      ? reachedFinding(name, probe, model)
      : fault(`mcp ${name}`, probe.fault.message, remedy(name, server, config.directory, probe));
  });
}

function slowText(name: string, downloader: string | null): string {
  const why = downloader === null ? '' : `: at its first start ${downloader} downloads it`;
  return `server ${name} is still starting${why}`;
}

/** A login that is due is renewed, as a worker does: whether that works is part of what is asked. */
async function probed(
  config: Config,
  server: McpServerOptions,
  { redisUrl = null, ...limits }: ServerExamination & { limitMs: number },
): Promise<Probe> {
  const needsLogin = server.transport.kind === 'http' && server.transport.auth !== undefined;
  if (!needsLogin || redisUrl === null) return probeServer(server, limits);
  try {
    return await askRedis(redisUrl, async (connection) =>
      probeServer(server, { ...limits, logins: loginsOn(connection, config) }),
    );
  } catch (error) {
    if (!(error instanceof RedisAway)) throw error;
    const message = 'its login cannot be read while Redis is away';
    return { ok: false, late: false, fault: { type: 'network', message, passing: true } };
  }
}

/** `model`: that its tools may ask. */
function reachedFinding(
  name: string,
  probe: Extract<Probe, { ok: true }>,
  model: string | undefined,
): Finding {
  const [first, ...others] = probe.faults;
  const asks = model === undefined ? '' : `; its tools may ask ${model}`;
  if (first === undefined) return fine(`mcp ${name}`, `${reached(probe)}${asks}`);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  const says = `${reached(probe)}${asks}; its tool "${first.tool}" ${first.message}${more}`;
  return advice(
    `mcp ${name}`,
    says,
    `Tell the author of the server, or update it. \`adjutant tools\` names all.`,
  );
}

function reached({ transport, tools, connectMs, listMs, login }: Extract<Probe, { ok: true }>): string {
  const count = `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`;
  const who = login === null ? '' : `, logged in ${loginText(login)}`;
  return `connected over ${transport} in ${Math.round(connectMs)} ms, ${count} listed in ${Math.round(listMs)} ms${who}`;
}

function loginText({ account, clientId, issuer, expiresAt }: LoginSummary): string {
  const until =
    expiresAt === null ? 'without an end' : `until ${new Date(expiresAt).toISOString().slice(0, 19)}Z`;
  return `as ${account ?? `client ${clientId}`} at ${issuer} ${until}`;
}

type Failed = Extract<Probe, { ok: false }>;

function remedy(name: string, server: McpServerConfig, directory: string, found: Failed): string {
  const place = `mcpServers.${name}`;
  switch (server.kind) {
    case 'http':
      return httpRemedy(place, server, found.fault);
    case 'stdio':
      return stdioRemedy(place, server, resolve(directory, server.cwd ?? '.'), found);
    case 'openapi':
      return `Correct ${place}.openapi, .base_url or .private_addresses, or start the API.`;
    case 'builtin':
      return `Run \`adjutant ${server.builtin} < /dev/null\` to see its error; the installation may be damaged.`;
  }
}

function httpRemedy(place: string, { url, auth }: HttpServerConfig, { type }: ConnectFault): string {
  if (type === 'auth' && auth === undefined)
    return `Give it credentials: ${place}.bearer_token or ${place}.headers, as \${ENV}; or a login: "auth": {}, then \`adjutant mcp login\`.`;
  if (type === 'auth')
    return auth?.grant === 'client_credentials'
      ? `Correct ${place}.auth.`
      : `Run \`adjutant mcp login ${place.slice('mcpServers.'.length)}\`, with the same ADJUTANT_TOKEN_KEY.`;
  const { origin, pathname } = new URL(url);
  return `Start the server, or correct ${place}.url (${origin}${pathname}).`;
}

/** Arguments are not repeated: they may hold values from the environment. */
function stdioRemedy(
  place: string,
  { command }: StdioServerConfig,
  cwd: string,
  { fault: { passing }, late }: Failed,
): string {
  if (!existsSync(cwd)) return `Create the folder ${cwd}, or correct ${place}.cwd.`;
  if (!passing && /\s/.test(command))
    return `Write the program alone in ${place}.command, and each argument as a text of ${place}.args.`;
  if (!passing) return `Install \`${command}\`, or correct ${place}.command; it is searched on the PATH.`;
  const run = `Run its command (${command} …) by hand in ${cwd}`;
  return late
    ? `${run} to see what it waits for. A first start may download a package: then try again.`
    : `${run} to see its error, and correct ${place}.`;
}
