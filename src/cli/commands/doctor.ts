/** `adjutant doctor`: what the service needs, looked at piece by piece; for each fault what is wrong and how to fix it.
 *  It must never change anything. */
import { EXIT, type ExitCode } from '../failure.ts';
import { fault, fine, type Finding } from '../finding.ts';
import { privateRedisUrl } from '../private-redis.ts';
import { oneLine, type Terminal } from '../terminal.ts';

export interface DoctorOptions {
  /** Default: adjutant.json here. */
  readonly config?: string;
  readonly url: string;
  readonly json: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const HEALTH_LIMIT_MS = 5_000;

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

async function examine(options: DoctorOptions, environment: Environment): Promise<Finding[]> {
  const [configured, service] = await Promise.all([
    examineConfigured(options.config, environment),
    examineService(options.url),
  ]);
  return [nodeFinding(process.versions.node), ...configured, service];
}

async function examineConfigured(file: string | undefined, environment: Environment): Promise<Finding[]> {
  const [{ loadConfig }, { examineRedis, examineServers }] = await Promise.all([
    import('../../config.ts'),
    import('../../diagnosis.ts'),
  ]);
  try {
    const config = loadConfig(file, environment);
    const url = config.redisUrl ?? (await privateRedisUrl(process.cwd()));
    const redis = url === null ? Promise.resolve([noRedisYet]) : examineRedis(url);
    return (await Promise.all([redis, examineServers(config)])).flat();
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ConfigError')) throw error;
    const fix = 'Correct the file, or write a new one with `adjutant init` in another folder.';
    return [fault('configuration', error.message, fix)];
  }
}

const noRedisYet = fine('redis', 'REDIS_URL is not set; `adjutant up` starts a private one under .adjutant/');

function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ok = major > 22 || (major === 22 && minor >= 15);
  const says = `version ${version}`;
  return ok ? fine('node', says) : fault('node', says, 'Use Node 22.15 or newer.');
}

async function examineService(url: string): Promise<Finding> {
  const subject = 'service';
  const fix = 'Start it with `adjutant up`, or name the right one with --url or ADJUTANT_URL.';
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(HEALTH_LIMIT_MS) });
    if (response.ok) return fine(subject, `ready at ${url}`);
    const says = `at ${url} is not ready: ${oneLine(await response.text())}`;
    return fault(subject, says, 'Its log says more; without Redis it cannot work.');
  } catch {
    return fault(subject, `does not answer at ${url}`, fix);
  }
}

function findingLines({ subject, ok, says, fix }: Finding, terminal: Terminal): string[] {
  const mark = ok ? terminal.paint('green', '✓') : terminal.paint('red', '✗');
  const line = `${mark} ${terminal.paint('bold', subject)}  ${oneLine(says, 500)}`;
  return fix === null ? [line] : [line, `  ${terminal.paint('cyan', 'fix')}  ${fix}`];
}
