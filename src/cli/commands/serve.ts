/** `adjutant up`, `api`, `engine`, `worker`: runs the service in this process until it is told to stop.
 *  It must never know what the roles do: the service does. */
import { ServiceUnavailable } from '../../contract/problem.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import { type PrivateRedis, startPrivateRedis } from '../private-redis.ts';
import type { Terminal } from '../terminal.ts';

export interface ServeOptions {
  readonly roles: { readonly api?: boolean; readonly engine?: boolean; readonly worker?: boolean };
  /** Default: adjutant.json here. */
  readonly config?: string;
  /** Default: ADJUTANT_PORT, or 7420. */
  readonly port?: number;
  /** Default: ADJUTANT_HOST, or 127.0.0.1. */
  readonly host?: string;
  /** Whether a missing REDIS_URL is filled by a private Redis. */
  readonly mayStartRedis: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Resolves when `stop` aborts and everything has stopped. */
export async function serve(
  terminal: Terminal,
  stop: AbortSignal,
  options: ServeOptions,
  environment: Environment = process.env,
): Promise<ExitCode> {
  const [{ loadConfig }, { loadModules }, { withDefaultAgent }, { createService }] = await Promise.all([
    import('../../config.ts'),
    import('../../modules.ts'),
    import('../../default-agent.ts'),
    import('../../service.ts'),
  ]);
  const env = withOptions(environment, options);
  // Before anything is started: a wrong file, or a module that cannot be loaded, is reported at once.
  const modules = await loadModules(loadConfig(options.config, env));
  if (stop.aborted) return EXIT.done;
  const redis = await redisFor(env, options.mayStartRedis);
  try {
    const config = loadConfig(options.config, { ...env, REDIS_URL: redis.url });
    const service = createService(config, options.roles, {
      ...modules,
      agents: withDefaultAgent(modules.agents),
    });
    await started(service.start(stop));
    if (!stop.aborted) announce(terminal, service.url);
    await aborted(stop);
    terminal.err('stopping');
    await service.stop();
  } finally {
    await redis.stop();
  }
  return EXIT.done;
}

function announce(terminal: Terminal, url: string | null): void {
  terminal.out(`adjutant ${url === null ? 'works' : `listens on ${url}`}`);
  if (url !== null) terminal.err(terminal.paintErr('dim', `documentation: ${url}/docs`));
}

function withOptions(environment: Environment, { port, host }: ServeOptions): Environment {
  return {
    ...environment,
    ...(port === undefined ? {} : { ADJUTANT_PORT: String(port) }),
    ...(host === undefined ? {} : { ADJUTANT_HOST: host }),
  };
}

async function redisFor(
  { REDIS_URL: url = '', REDIS_SERVER: program }: Environment,
  mayStart: boolean,
): Promise<PrivateRedis> {
  if (url !== '') return { url, stop: async () => {} };
  if (mayStart) return startPrivateRedis(process.cwd(), program);
  throw new CliFailure({
    what: 'REDIS_URL is not set; a role alone has to share its Redis with the others.',
    how: 'Set REDIS_URL, as in redis://127.0.0.1:6379; or run `adjutant up`, which brings its own.',
    exitCode: EXIT.usage,
  });
}

/** What stands in the way of a start, in words. */
async function started(starting: Promise<void>): Promise<void> {
  try {
    await starting;
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException);
  }
}

function explained(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EADDRINUSE' || error.code === 'EACCES') {
    return new CliFailure({
      what: `The API cannot listen: ${error.message}.`,
      how: 'Stop what uses the port, or name another with --port or ADJUTANT_PORT.',
    });
  }
  if (
    error instanceof ServiceUnavailable ||
    /Command timed out|ECONNREFUSED|WRONGPASS|NOAUTH/.test(error.message)
  ) {
    return new CliFailure({
      what: `Redis does not answer: ${error.message}.`,
      how: 'Check REDIS_URL and that the Redis runs; `adjutant doctor` says more.',
      exitCode: EXIT.unreachable,
    });
  }
  return error;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
}
