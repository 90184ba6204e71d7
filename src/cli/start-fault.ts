/** The start of a long-lived process: the faults that prevent it (configuration, modules, agents, Redis, ports), and the
 *  removal of its environment from /proc. A bug of the service is none of these faults: it keeps its stack. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type { ServiceUnavailable } from '../contract/problem.ts';
import { fault, type Finding } from './doctor/finding.ts';
import { PrivateRedisFailure } from '../platform/redis/private-lock.ts';
import { ADJUTANT } from './command-name.ts';
import { CliFailure } from './failure.ts';

/** A start that cannot go on, with every fault and its fix. */
export class StartFault extends Error {
  override readonly name = 'StartFault';
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[], options?: ErrorOptions) {
    super(findings.map(({ subject, says }) => `${subject}: ${says}`).join('; '), options);
    this.findings = findings;
  }
}

/** Throws `StartFault` when a finding is a fault. */
export function requireSound(findings: readonly Finding[]): void {
  const faults = findings.filter(({ ok }) => !ok);
  if (faults.length > 0) throw new StartFault(faults);
}

/** Turns an error of the start into a `StartFault`, where it is one. */
export function startFault(error: unknown): unknown {
  if (error instanceof PrivateRedisFailure) return new CliFailure({ what: error.message, how: error.how });
  const found = error as Fault;
  if (found.name === 'ConfigError') return new StartFault(configurationFindings(found), { cause: error });
  const finding = error instanceof CliFailure ? null : findingOf(found);
  return finding === null ? error : new StartFault([finding], { cause: error });
}

/** Findings of a `ConfigError`, one for each fault. */
export function configurationFindings({ message, fix, faults }: Fault): Finding[] {
  if (faults === undefined) return [fault('configuration', message, fix ?? RUN_DOCTOR)];
  return faults.map((each) => fault('configuration', each.says, each.fix));
}

/** Recognised by name: the client verbs do not load the modules of the service. */
type Fault = Error & {
  readonly fix?: string;
  readonly faults?: readonly { says: string; fix: string }[];
  readonly code?: string;
  readonly syscall?: string;
};

function findingOf(error: Fault): Finding | null {
  if (error.name === 'RedisAway') return fault('redis', error.message, error.fix ?? RUN_DOCTOR);
  if (error.name === 'NoKeys') return fault('access', error.message, error.fix ?? RUN_DOCTOR);
  if (error.name === 'UnfitRedis') return fault('redis', error.message, `Run \`${ADJUTANT} doctor\`.`);
  if (error.name === ('ServiceUnavailable' satisfies ServiceUnavailable['name']))
    return fault('redis', error.message, `Check Redis with \`${ADJUTANT} doctor\`.`);
  if (error.message.startsWith('durability '))
    return fault('redis', error.message, 'Change Redis, or `durability` in the configuration.');
  if (error.syscall === 'listen')
    return fault('api', `cannot listen: ${error.message}`, 'Use another port or host: --port, --host.');
  return null;
}

const RUN_DOCTOR = `Run \`${ADJUTANT} doctor\`.`;

/** Where the kernel keeps the initial environment of a process, in `/proc/self/stat` (proc(5), fields counted from 1). */
const ENV_START_FIELD = 50;
const ENV_END_FIELD = 51;
/** The fields after the command, which may hold spaces, begin with the third. */
const FIRST_FIELD_AFTER_COMMAND = 3;

/**
 * Empties `/proc/<pid>/environ` of this process. `process.env` stays as it is, also for child processes. false: not
 * possible on this system.
 */
export function hideEnvironment(): boolean {
  // Another thread has only a copy of the variables.
  if (process.platform !== 'linux' || !isMainThread) return false;
  try {
    const { start, bytes } = environmentBlock();
    // Set again, each variable is kept on the heap, and nothing reads the block any more.
    for (const [name, value] of Object.entries(process.env)) process.env[name] = value;
    const memory = openSync('/proc/self/mem', 'r+');
    writeSync(memory, Buffer.alloc(bytes), 0, bytes, start);
    closeSync(memory);
    return true;
  } catch {
    // A kernel or a sandbox does not allow it: docs/mcp-servers.md describes what to do.
    return false;
  }
}

function environmentBlock(): { start: number; bytes: number } {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - FIRST_FIELD_AFTER_COMMAND]);
  const start = field(ENV_START_FIELD);
  const bytes = field(ENV_END_FIELD) - start;
  if (!Number.isSafeInteger(start) || !(bytes > 0)) throw new Error('the kernel does not report its place');
  return { start, bytes };
}
