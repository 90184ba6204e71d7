/** `adjutant doctor`: examines what the service needs; for each fault, what is wrong and how to fix it.
 *  It must never change anything but a login that is due: it renews it, as a worker does. */
import { ADJUTANT } from '../command-name.ts';
import * as z from 'zod';
import { configurationFindings, hideEnvironment } from '../start-fault.ts';
import { createHttpClient } from '../../client/http-client.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { ListedLane } from '../../contract/request/lane-listing.ts';
import { DirectiveRefused, ServiceUnavailable } from '../../contract/problem.ts';
import type { ListedServer } from '../../contract/tool/tool-listing.ts';
import type { ListedWorker } from '../../contract/request/worker-listing.ts';
import { SET_KEY, START_IT } from '../explanation.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import { advice, fault, fine, type Finding } from '../doctor/finding.ts';
import { counted } from '../following/run-lines.ts';
import { programsText } from '../following/signal-gist.ts';
import { scheduleFindings } from '../doctor/schedules.ts';
import { privateRedisLog, privateRedisUrl } from '../../platform/redis/private-redis.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import type { CommandLine } from '../invocation.ts';

interface DoctorOptions {
  /** Default: adjutant.json here. */
  readonly config?: string;
  readonly url: string;
  /** Default: none. */
  readonly apiKey?: string;
  readonly json: boolean;
}

type Config = Awaited<ReturnType<typeof import('../../config/config.ts').loadConfig>>;
type Environment = Readonly<Record<string, string | undefined>>;

const HEALTH_LIMIT_MS = 10_000;

const FIX_FAULTS = 'Fix the listed faults; the service recovers by itself when Redis is back. See its log.';
const LOOK_AT_WARNINGS = 'The service answers, but not all of it works: the warnings in its log say why.';
const LOOK_AT_LOG = 'Its process or machine is overloaded or frozen: read its log.';

export function addDoctor({ program, local }: CommandLine): void {
  program
    .command('doctor')
    .description('check Redis, the MCP servers and the service, and name a fix for each fault')
    .option('--config <file>', 'the configuration; default: adjutant.json here')
    .action(async (given: { config?: string }) =>
      local(async ({ terminal, interrupt, json, service }) =>
        doctor(terminal, interrupt, { ...given, ...(await service()), json }),
      ),
    );
}

async function doctor(
  terminal: Terminal,
  interrupt: AbortSignal,
  options: DoctorOptions,
  environment: Environment = process.env,
): Promise<ExitCode> {
  hideEnvironment();
  let sound = true;
  for (const looking of await examine(terminal, interrupt, options, environment)) {
    const findings = await looking;
    if (interrupt.aborted) continue;
    for (const [position, finding] of findings.entries()) {
      sound &&= finding.ok;
      if (options.json) terminal.out(JSON.stringify(finding));
      else for (const line of findingLines(finding, findings[position + 1], terminal)) terminal.out(line);
    }
  }
  if (interrupt.aborted) return EXIT.interrupted;
  return sound ? EXIT.done : EXIT.failed;
}

/** Examines all places in parallel, and prints them in this order. */
async function examine(
  terminal: Terminal,
  interrupt: AbortSignal,
  { config: file, ...at }: DoctorOptions,
  environment: Environment,
) {
  const { examineArchive } = await import('../doctor/archive.ts');
  const { examinePayloads } = await import('../doctor/payloads.ts');
  const { encryptionFindings } = await import('../doctor/encryption.ts');
  const { examineWebhooks } = await import('../doctor/webhooks.ts');
  const { searchFindings } = await import('../doctor/search.ts');
  const { examineCollector } = await import('../doctor/collector.ts');
  const { examineBudgets } = await import('../doctor/start-check.ts');
  const { examineModels, tokenKeyFindings } = await import('../doctor/keys.ts');
  const { examineRedis, examineServers } = await import('../doctor/diagnosis.ts');
  const { findings, config, redisUrl } = await readConfiguration(file, environment);
  const whereRedis = redisUrl ?? (await privateRedisUrl(process.cwd()));
  const servers =
    config === null ? [] : examineServers(config, { interrupt, redisUrl: whereRedis, onSlow: terminal.err });
  const names = config === null ? [] : [...config.mcpServers.keys()];
  return [
    [nodeFinding(process.versions.node), ...findings],
    config === null ? [] : examineModules(config),
    whereRedis === null ? examineAbsentRedis() : examineRedis(whereRedis, config?.prefix ?? 'adjutant'),
    config === null ? [] : tokenKeyFindings(config),
    ...servers.map(async (server) => [await server]),
    config === null ? [] : examineModels(config),
    config === null ? [] : examineCollector(config),
    config === null ? [] : examineArchive(config),
    config === null ? [] : examinePayloads(config),
    config === null ? [] : examineWebhooks(config),
    config === null ? [] : encryptionFindings(config),
    config === null ? [] : searchFindings(config),
    config === null ? [] : examineBudgets(config),
    examineService(at, names),
  ];
}

async function readConfiguration(file: string | undefined, environment: Environment) {
  const { loadConfig } = await import('../../config/config.ts');
  try {
    const config = loadConfig(file, environment);
    const finding = fine('configuration', counted(config.mcpServers.size, 'MCP server'));
    return { findings: [finding], config, redisUrl: config.redisUrl };
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ConfigError')) throw error;
    const redisUrl = environment['REDIS_URL'] || undefined;
    return { findings: configurationFindings(error), config: null, redisUrl };
  }
}

/** Loads the modules, as a start does. */
async function examineModules(config: Config): Promise<Finding[]> {
  const [{ loadModules }, { examineAgents }] = await Promise.all([
    import('../../agents/modules/modules.ts'),
    import('../doctor/start-check.ts'),
  ]);
  try {
    return examineAgents(config, await loadModules(config), { alone: false });
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ConfigError')) throw error;
    return [fault('modules', error.message, (error as Error & { fix: string }).fix)];
  }
}

/** Neither a REDIS_URL nor a private one that answers. */
async function examineAbsentRedis(): Promise<Finding[]> {
  const log = await privateRedisLog(process.cwd());
  return [log === null ? noRedisYet : fault('redis', PRIVATE_AWAY, privateFix(log))];
}

const noRedisYet = fine(
  'redis',
  `REDIS_URL is not set; \`${ADJUTANT} up\` starts a private one under .adjutant/`,
);

const PRIVATE_AWAY = 'the private one of the service in this folder does not answer';

function privateFix(log: string): string {
  return `Wait some seconds: the service starts it again. If it does not, its log says why: ${log}. Then stop the service and start \`${ADJUTANT} up\` again.`;
}

function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const says = `version ${version}`;
  return major > 22 || (major === 22 && minor >= 15)
    ? fine('node', says)
    : fault('node', says, 'Use Node 22.15 or newer.');
}

/** The service, and the state of the MCP servers as its workers report it. */
async function examineService(
  { url, apiKey }: Pick<DoctorOptions, 'url' | 'apiKey'>,
  configured: readonly string[],
): Promise<Finding[]> {
  const startedAt = performance.now();
  try {
    const key = apiKey === undefined ? {} : { apiKey };
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${url}/readyz`, { headers, signal: AbortSignal.timeout(HEALTH_LIMIT_MS) });
    const says = `at ${url} answered ${response.status} in ${Math.round(performance.now() - startedAt)} ms`;
    const reasons = unreadyChecks(await response.text());
    if (!response.ok) return [fault('service', [says, ...reasons].join('; '), FIX_FAULTS)];
    const client = createHttpClient({ baseUrl: url, ...key });
    const [{ servers }, { lanes }, present, list, schedules] = await Promise.all([
      client.tools(),
      client.lanes(),
      presentWorkers(client),
      listFindings(client),
      examineSchedules(client),
    ]);
    return [
      fine('service', says),
      ...roleFindings(present, lanes),
      ...(present?.some(hasWorker) === false ? [] : workerFindings(servers, configured)),
      ...list,
      ...schedules,
    ];
  } catch (error) {
    if (error instanceof DirectiveRefused) return [fault('service', `at ${url}: ${error.message}`, SET_KEY)];
    // Another program answers: the client says so.
    if (error instanceof ServiceUnavailable) {
      const answers = error.retryAfterMs !== null;
      return [fault('service', error.message, answers ? LOOK_AT_WARNINGS : START_IT)];
    }
    return error instanceof Error && error.name === 'TimeoutError'
      ? [fault('service', `at ${url} did not answer within ${HEALTH_LIMIT_MS} ms`, LOOK_AT_LOG)]
      : [fault('service', `does not answer at ${url}`, START_IT)];
  }
}

/** null: the service is of a version that does not list them. */
async function presentWorkers(client: DirectiveClient): Promise<readonly ListedWorker[] | null> {
  try {
    return (await client.workers()).workers;
  } catch (error) {
    if (error instanceof DirectiveRefused) return null;
    throw error;
  }
}

/** Whether the list of requests is whole. Nothing where the service does not say. */
async function listFindings(client: DirectiveClient): Promise<Finding[]> {
  try {
    const { incomplete, counts } = await client.requests({ limit: 1 });
    if (incomplete === undefined) return [];
    const listed = counted(counts.total, 'request');
    return [incomplete ? advice(LIST, `${listed} so far: ${INCOMPLETE}`, LIST_FIX) : fine(LIST, listed)];
  } catch (error) {
    if (error instanceof DirectiveRefused) return [];
    throw error;
  }
}

/** Those of the tenant. Nothing where the service does not list them. */
async function examineSchedules(client: DirectiveClient): Promise<Finding[]> {
  try {
    const { schedules } = await client.schedules.list({ limit: 1_000 });
    return scheduleFindings(schedules, Date.now());
  } catch (error) {
    if (error instanceof DirectiveRefused) return [];
    throw error;
  }
}

const LIST = 'list of requests';
const INCOMPLETE = 'it is incomplete while it is built from what Redis holds';
const LIST_FIX = 'Wait: it ends by itself. If the number does not grow, the log of the service says why.';

function hasWorker({ roles }: ListedWorker): boolean {
  return roles.includes('worker');
}

/** Roles that no process has, and lanes that no process serves. Without runs no engine is needed. */
export function roleFindings(
  present: readonly ListedWorker[] | null,
  lanes: readonly ListedLane[],
): Finding[] {
  if (present === null) return [];
  const has = (role: string): boolean => present.some(({ roles }) => roles.includes(role));
  // A lane without work is left over from a removed server or provider: it lacks nothing.
  const unserved = lanes.filter(
    (lane) => lane.name !== 'run' && lane.waits?.reason === 'no_worker' && hasWork(lane),
  );
  const lanesOf = has('worker') ? unserved.map(({ name }) => laneFinding(name)) : [];
  const programs = lanes.flatMap((lane) =>
    lane.programs === undefined ? [] : [programFinding(lane, lane.programs)],
  );
  return [
    ...(present.length > 0 ? [fine('processes', processText(present))] : []),
    ...(has('engine') ? [] : [advice('engines', 'none works: runs wait for one', startA('engine'))]),
    ...(has('worker') ? [] : [fault('workers', 'none works: every directive waits', startA('worker'))]),
    ...lanesOf,
    ...programs,
  ];
}

function programFinding({ name, waits }: ListedLane, programs: NonNullable<ListedLane['programs']>): Finding {
  const says = `of the lane ${name}: ${programsText(programs)}`;
  return waits?.reason === 'no_program' ? fault('programs', says, START_A_PROGRAM) : fine('programs', says);
}

function hasWork({ waiting, delayed, gated = 0, later = 0 }: ListedLane): boolean {
  return waiting + delayed + gated + later > 0;
}

function laneFinding(lane: string): Finding {
  return fault('workers', `none takes work of the lane ${lane}`, SERVE_THE_LANE);
}

function processText(present: readonly ListedWorker[]): string {
  const idle = Map.groupBy(
    present.filter(({ state }) => state !== 'working'),
    ({ state }) => oneLine(state, 64),
  );
  const others = [...idle].map(([state, { length }]) => `${length} ${state}`);
  const counts = ['api', 'engine', 'worker'].map(
    (role) => `${present.filter(({ roles }) => roles.includes(role)).length} with ${role}`,
  );
  return [counts.join(', '), ...others].join('; ');
}

function startA(role: string): string {
  return `Start one: \`${ADJUTANT} ${role}\`, or \`${ADJUTANT} up\`.`;
}

const START_A_PROGRAM =
  'Start the program that executes the type, such as a Python worker. One that runs is busy with other types, or its calls are refused: see its log.';

const SERVE_THE_LANE = `Start a worker that serves it, or see \`${ADJUTANT} workers\`: one may be drained, or have --lanes.`;

/** The failed checks of `/readyz`; empty when another program answers. */
function unreadyChecks(body: string): string[] {
  const read = readinessSchema.safeParse(jsonOf(body));
  const checks = Object.entries(read.success ? read.data.checks : {});
  return checks.filter(([, says]) => says !== 'ok').map(([name, says]) => `${name}: ${says}`);
}

const readinessSchema = z.object({ checks: z.record(z.string(), z.string()) });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Servers that the workers cannot reach, and configured servers that no worker reports. */
export function workerFindings(reported: readonly ListedServer[], configured: readonly string[]): Finding[] {
  const known = new Set(reported.map(({ name }) => name));
  const missing = configured
    .filter((name) => !known.has(name))
    .map((name) => fault('workers', `none reports the server ${name}`, START_A_WORKER));
  const away = reported.filter(({ status }) => status !== 'ready').map(awayFinding);
  const faults = [...away, ...missing];
  return faults.length > 0 ? faults : [fine('workers', `reach ${counted(reported.length, 'MCP server')}`)];
}

const WAIT_FOR_SERVER = `Wait: a first start may download the server. \`${ADJUTANT} tools\` names those that are not ready.`;

const START_A_WORKER = `Start a worker with this configuration: \`${ADJUTANT} worker\`, or \`${ADJUTANT} up\`.`;

function awayFinding({ name, status, error }: ListedServer): Finding {
  const says = `report that the server ${name} is ${status}${error === undefined ? '' : `: ${error}`}`;
  if (status === 'connecting' && error === undefined) return advice('workers', says, WAIT_FOR_SERVER);
  const fix = `If \`mcp ${name}\` is fine here, the worker's machine differs: its folder, PATH, environment or network.`;
  return fault('workers', says, fix);
}

function markOf(ok: boolean, hasAdvice: boolean, { paint }: Terminal): string {
  if (!ok) return paint('red', '✗');
  return hasAdvice ? paint('yellow', '!') : paint('green', '✓');
}

/** Lines of a finding. A fix shared by several faults of one place is printed below the last one. */
function findingLines(
  { subject, ok, says, fix }: Finding,
  next: Finding | undefined,
  terminal: Terminal,
): string[] {
  const mark = markOf(ok, fix !== null, terminal);
  const line = `${mark} ${terminal.paint('bold', subject)}  ${oneLine(says, 500)}`;
  return fix === null || next?.fix === fix ? [line] : [line, `  ${terminal.paint('cyan', 'fix')}  ${fix}`];
}
