/** `adjutant doctor`: what the service needs, looked at piece by piece; for each fault what is wrong and how to fix it.
 *  It must never change anything. */
import { createHttpClient } from '../../client/http-client.ts';
import type { ListedServer } from '../../contract/tool-listing.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import { fault, fine, type Finding } from '../finding.ts';
import { privateRedisUrl } from '../private-redis.ts';
import { examineRedis } from '../redis-findings.ts';
import { oneLine, type Terminal } from '../terminal.ts';

export interface DoctorOptions {
  /** Default: adjutant.json here. */
  readonly config?: string;
  readonly url: string;
  readonly json: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const HEALTH_LIMIT_MS = 5_000;
const START_IT = 'Start it with `adjutant up`, or name the right one with --url or ADJUTANT_URL.';

export async function doctor(
  terminal: Terminal,
  options: DoctorOptions,
  environment: Environment = process.env,
): Promise<ExitCode> {
  const findings = await examine(options, environment);
  for (const finding of findings) {
    if (options.json) terminal.out(JSON.stringify(finding));
    else for (const line of findingLines(finding, terminal)) terminal.out(line);
  }
  return findings.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
}

async function examine({ config: file, url }: DoctorOptions, environment: Environment): Promise<Finding[]> {
  const configured = await readConfiguration(file, environment);
  const redisUrl = configured.redisUrl ?? (await privateRedisUrl(process.cwd()));
  const [redis, service] = await Promise.all([
    redisUrl === null ? [noRedisYet] : examineRedis(redisUrl),
    examineService(url, configured.servers),
  ]);
  return [nodeFinding(process.versions.node), configured.finding, ...redis, ...service];
}

interface Configured {
  readonly finding: Finding;
  readonly redisUrl: string | undefined;
  readonly servers: readonly string[];
}

async function readConfiguration(file: string | undefined, environment: Environment): Promise<Configured> {
  const { loadConfig } = await import('../../config.ts');
  try {
    const { mcpServers, redisUrl } = loadConfig(file, environment);
    const servers = [...mcpServers.keys()];
    return { finding: fine('configuration', `${servers.length} MCP servers`), redisUrl, servers };
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ConfigError')) throw error;
    const fix = 'Correct the file, or write a new one with `adjutant init` in another folder.';
    const redisUrl = environment['REDIS_URL'] || undefined;
    return { finding: fault('configuration', error.message, fix), redisUrl, servers: [] };
  }
}

const noRedisYet = fine('redis', 'REDIS_URL is not set; `adjutant up` starts a private one under .adjutant/');

function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const says = `version ${version}`;
  return major > 22 || (major === 22 && minor >= 15)
    ? fine('node', says)
    : fault('node', says, 'Use Node 22.15 or newer.');
}

/** The service, and the MCP servers as its workers see them. */
async function examineService(url: string, configured: readonly string[]): Promise<Finding[]> {
  const startedAt = performance.now();
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(HEALTH_LIMIT_MS) });
    const says = `at ${url} answered ${response.status} in ${Math.round(performance.now() - startedAt)} ms`;
    if (!response.ok) return [fault('service', says, 'Its log says more; without Redis it cannot work.')];
    const { servers } = await createHttpClient({ baseUrl: url }).tools();
    return [fine('service', says), ...serverFindings(servers, configured)];
  } catch {
    return [fault('service', `does not answer at ${url}; the MCP servers were not looked at`, START_IT)];
  }
}

/** Every server that a worker reports, and those of the configuration that none does. */
export function serverFindings(reported: readonly ListedServer[], configured: readonly string[]): Finding[] {
  const known = new Set(reported.map(({ name }) => name));
  const missing = configured
    .filter((name) => !known.has(name))
    .map((name) => {
      return fault(`mcp ${name}`, 'no worker reports it', 'Start a worker with this configuration.');
    });
  return [...reported.map(serverFinding), ...missing];
}

function serverFinding({ name, status, tools, error }: ListedServer): Finding {
  if (status === 'ready') return fine(`mcp ${name}`, `connected, ${tools} tools`);
  const says = `${status}${error === undefined ? '' : `: ${error}`}`;
  return fault(
    `mcp ${name}`,
    says,
    `Check mcpServers.${name} in adjutant.json: start it by hand to see what it says.`,
  );
}

function findingLines({ subject, ok, says, fix }: Finding, terminal: Terminal): string[] {
  const mark = ok ? terminal.paint('green', '✓') : terminal.paint('red', '✗');
  const line = `${mark} ${terminal.paint('bold', subject)}  ${oneLine(says, 500)}`;
  return fix === null ? [line] : [line, `  ${terminal.paint('cyan', 'fix')}  ${fix}`];
}
