/** `adjutant up`, `api`, `engine`, `worker`: runs the service in this process until it must stop.
 *  It must never know what the roles do: the service does. */
import { flushCompileCache } from 'node:module';
import { ADJUTANT, beforeOptions } from '../command-name.ts';
import { hideEnvironment, requireSound, StartFault, startFault } from '../start-fault.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import { fault, type Finding } from '../doctor/finding.ts';
import { endLoading } from '../../platform/heap.ts';
import {
  type PrivateRedis,
  privateRedisUrl,
  type RedisNotice,
  startPrivateRedis,
} from '../../platform/redis/private-redis.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { createTracePrinter, openReader, type TracePrinter } from '../trace/trace-printer.ts';
import { wholeNumber } from '../options/option-values.ts';
import type { CommandLine } from '../invocation.ts';

interface ServeOptions {
  readonly roles: { readonly api?: boolean; readonly engine?: boolean; readonly worker?: boolean };
  /** Default: adjutant.json here. */
  readonly config?: string;
  /** Default: ADJUTANT_PORT, or 7420. */
  readonly port?: number;
  /** Default: ADJUTANT_HOST, or 127.0.0.1. */
  readonly host?: string;
  /** Whether an API may listen beyond loopback without keys. Default: ADJUTANT_INSECURE, or no. */
  readonly insecure?: boolean;
  /** Default: ADJUTANT_METRICS_PORT, or none. */
  readonly metricsPort?: number;
  /** Names of the lanes that a worker serves, with `*`. Default: all. */
  readonly lanes?: readonly string[];
  /** Whether the tree of each request that ends here is printed. Default: no. */
  readonly traces?: boolean;
  /** Whether a private Redis starts when REDIS_URL is missing. */
  readonly mayStartRedis: boolean;
}

type Config = Awaited<ReturnType<typeof import('../../config/config.ts').loadConfig>>;
type Modules = Awaited<ReturnType<typeof import('../../agents/modules/modules.ts').loadModules>>;
type Loaded = { config: Config; modules: Modules };
type Environment = Readonly<Record<string, string | undefined>>;

export function addRoles({ program, local }: CommandLine): void {
  const role = (
    name: string,
    description: string,
    fixed: Pick<ServeOptions, 'roles' | 'mayStartRedis'>,
  ): void => {
    const command = program.command(name).description(description);
    command.option('--config <file>', 'the configuration; default: adjutant.json here');
    if (fixed.roles.api === true) {
      command.option('--port <port>', 'default: ADJUTANT_PORT or 7420; 0 = any free port', wholeNumber);
      command.option('--host <host>', 'default: ADJUTANT_HOST or 127.0.0.1');
      command.option('--insecure', 'allow unauthenticated access on non-loopback interfaces');
    } else {
      command.option(
        '--metrics-port <port>',
        'serve /metrics, /healthz and /readyz there; default: ADJUTANT_METRICS_PORT or none',
        wholeNumber,
      );
    }
    if (name === 'up')
      command.option('--traces', 'print the tree of each request when it has ended, a few of them a second');
    if (name === 'worker')
      command.option('--lanes <names...>', 'only these, as in tool.* or llm.openai; default: every lane');
    command.action(async (given: Partial<ServeOptions>) =>
      local(async ({ terminal, interrupt }) => serve(terminal, interrupt, { ...given, ...fixed })),
    );
  };
  role('up', 'run everything in one process; starts its own Redis when REDIS_URL is not set', {
    roles: { api: true, engine: true, worker: true },
    mayStartRedis: true,
  });
  role('api', 'run the HTTP API alone', { roles: { api: true }, mayStartRedis: false });
  role('engine', 'run an engine alone: it advances runs', {
    roles: { engine: true },
    mayStartRedis: false,
  });
  role('worker', 'run a worker alone', { roles: { worker: true }, mayStartRedis: false });
}

/** Resolves when `stop` aborts and everything has stopped. Throws `StartFault` when it cannot start. */
async function serve(
  terminal: Terminal,
  stop: AbortSignal,
  options: ServeOptions,
  environment: Environment = process.env,
): Promise<ExitCode> {
  hideEnvironment();
  const env = withOptions(environment, options);
  try {
    await run(terminal, stop, options, env);
    return EXIT.done;
  } catch (error) {
    throw startFault(error);
  }
}

async function run(
  terminal: Terminal,
  stop: AbortSignal,
  options: ServeOptions,
  env: Environment,
): Promise<void> {
  const [{ loadConfig }, { loadModules }, { withDefaultAgent }, { createService }] = await Promise.all([
    import('../../config/config.ts'),
    import('../../agents/modules/modules.ts'),
    import('../../agents/modules/default-agent.ts'),
    import('../../service/service.ts'),
  ]);
  // Before anything starts, so that all faults are reported at once.
  const loaded = loadConfig(options.config, env);
  const chosen = await chooseLanes({ config: loaded, modules: await loadModules(loaded) }, options.lanes);
  const { config: declared, modules } = chosen;
  await check(terminal, declared, modules, options.roles, beforeOptions(env));
  if (stop.aborted) return;
  const redis = await redisFor(terminal, env, options.mayStartRedis);
  try {
    const config = { ...declared, redisUrl: redis.url };
    const agents = withDefaultAgent(modules.agents);
    const printer = options.traces === true ? tracePrinterFor(terminal, config) : null;
    const service = await createService(config, options.roles, {
      modules: { ...modules, agents },
      onEnd: printer?.ended,
    });
    // Else it is written at the end of the process alone: one that is killed again and again would compile each time.
    flushCompileCache();
    await service.start(stop);
    endLoading();
    if (service.url !== null) printer?.begin(service.url);
    // A verb that does not find the note asks the usual address.
    if (service.url !== null) await redis.noteService(service.url).catch(() => {});
    if (!stop.aborted) announce(terminal, service);
    await aborted(stop);
    terminal.err('stopping');
    printer?.stop();
    await service.stop();
  } finally {
    await redis.stop();
  }
}

/** Throws `StartFault` for a pattern that no lane matches. */
async function chooseLanes(all: Loaded, patterns: readonly string[] | undefined): Promise<Loaded> {
  if (patterns === undefined) return all;
  const { examineLanes } = await import('../doctor/start-check.ts');
  const { onlyLanes } = await import('../../service/roles/lane-choice.ts');
  requireSound(examineLanes(all, patterns));
  return onlyLanes(all, patterns);
}

async function check(
  terminal: Terminal,
  config: Config,
  modules: Modules,
  roles: ServeOptions['roles'],
  before: string,
): Promise<void> {
  const { examinePort, examineStart } = await import('../doctor/start-check.ts');
  const findings = [
    ...examineStart(config, modules, roles),
    ...(roles.api === true ? await examinePort(config, before) : []),
  ];
  for (const finding of findings) if (finding.ok) printAdvice(terminal, finding);
  requireSound(findings);
  // Not awaited: a service starts without its store of large payloads.
  void warnOfPayloads(terminal, config);
}

async function warnOfPayloads(terminal: Terminal, config: Config): Promise<void> {
  const { examinePayloads } = await import('../doctor/payloads.ts');
  for (const finding of await examinePayloads(config)) if (!finding.ok) printAdvice(terminal, finding);
}

function printAdvice(terminal: Terminal, { subject, says, fix }: Finding): void {
  terminal.err(`${terminal.paintErr('yellow', 'warning')} ${oneLine(`${subject}: ${says}`, 500)}`);
  if (fix !== null) terminal.err(`${terminal.paintErr('cyan', '    fix')} ${oneLine(fix, 500)}`);
}

/** null: traces are sent to a collector, which shows them better. */
function tracePrinterFor(terminal: Terminal, { telemetry, adminKey }: Config): TracePrinter | null {
  if (telemetry.tracing === null) return createTracePrinter(terminal, undefined, openReader(adminKey));
  const says = `--traces prints nothing: traces are sent to ${telemetry.tracing.url}`;
  terminal.err(`${terminal.paintErr('yellow', 'warning')} ${oneLine(says, 500)}`);
  return null;
}

function announce(
  terminal: Terminal,
  { url, metricsUrl }: { url: string | null; metricsUrl: string | null },
): void {
  terminal.out(`adjutant ${url === null ? 'works' : `listens on ${url}`}`);
  if (url !== null) terminal.err(`console ${url}/console`);
  if (url !== null) terminal.err(terminal.paintErr('dim', `documentation: ${url}/docs`));
  if (metricsUrl !== null) terminal.err(terminal.paintErr('dim', `metrics: ${metricsUrl}/metrics`));
}

function withOptions(
  environment: Environment,
  { port, host, metricsPort, insecure }: ServeOptions,
): Environment {
  return {
    ...environment,
    ...(port === undefined ? {} : { ADJUTANT_PORT: String(port) }),
    ...(host === undefined ? {} : { ADJUTANT_HOST: host }),
    ...(insecure === true ? { ADJUTANT_INSECURE: '1' } : {}),
    ...(metricsPort === undefined ? {} : { ADJUTANT_METRICS_PORT: String(metricsPort) }),
  };
}

async function redisFor(
  terminal: Terminal,
  {
    REDIS_URL: url = '',
    REDIS_SERVER: program = 'redis-server',
    ADJUTANT_REDIS_PORT: port,
    PATH: path,
  }: Environment,
  mayStart: boolean,
): Promise<PrivateRedis> {
  if (url !== '') return runningRedis(url);
  const onNotice = (notice: RedisNotice): void => printRedisNotice(terminal, notice);
  if (mayStart) return startPrivateRedis(process.cwd(), { program, path, port: redisPortOf(port), onNotice });
  const shared = await privateRedisUrl(process.cwd());
  if (shared === null) throw new StartFault([fault('redis', NO_REDIS, SHARE_REDIS)]);
  terminal.err(SHARES_REDIS);
  return runningRedis(shared);
}

/** undefined: a free one. Throws a fault of the start. */
function redisPortOf(text = ''): number | undefined {
  if (text === '') return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  const says = `ADJUTANT_REDIS_PORT "${text}" is not a port`;
  throw new StartFault([
    fault('redis', says, 'Set it to a number from 1 to 65535, or unset it for a free port.'),
  ]);
}

const NO_REDIS = 'REDIS_URL is not set; a single role must share its Redis with the others';
const SHARE_REDIS = `Set REDIS_URL, as in redis://127.0.0.1:6379; or run \`${ADJUTANT} up\` in this folder first: a single role uses the private Redis that it starts.`;
const SHARES_REDIS = `redis: the private one of \`${ADJUTANT} up\` in this folder; when that is started again, start this again too`;

function runningRedis(url: string): PrivateRedis {
  return { url, noteService: async () => {}, stop: async () => {} };
}

function printRedisNotice(terminal: Terminal, { says, fix }: RedisNotice): void {
  const mark = fix === null ? terminal.paintErr('yellow', 'warning') : terminal.paintErr('red', 'error');
  terminal.err(`${mark} ${oneLine(says, 1_000)}`);
  if (fix !== null) terminal.err(`${terminal.paintErr('cyan', '  fix')} ${fix}`);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
}
