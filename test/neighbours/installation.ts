/** A whole installation of processes, each within the memory limit of the manifests, with a key of each scope for a hostile tenant.
 *  It must never run a part of the service in its own process. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccessClient } from '../../src/client/http-client.ts';
import { SCOPES, type Scope } from '../../src/contract/access/access.ts';
import { type Child, freePort, spawnProcess } from '../support/process.ts';
import { PROGRAM, programOf } from '../support/program.ts';
import { startRedis } from '../support/redis.ts';

export const LIMIT_MIB = 512;
/** Node takes about as much by itself in a container of 512 MiB. */
const HEAP_MIB = 256;
/** Version 1 of the interface, which a process of root may use; elsewhere only the heap is limited, and the peak is judged. */
const CGROUPS = '/sys/fs/cgroup/memory';
const SHARED_TOOL = programOf(fileURLToPath(new URL('../support/servers/shared-tool.ts', import.meta.url)));

export const ROLES = ['api', 'engine', 'worker'] as const;
export type Role = (typeof ROLES)[number];

export interface Memory {
  readonly residentMiB: number;
  /** The most since `resetPeaks`. */
  readonly peakMiB: number;
}

export interface Installation extends AsyncDisposable {
  readonly url: string;
  readonly victimKey: string;
  /** A key of the hostile tenant with one scope beside none, one scope each; `all` has every scope. */
  readonly hostileKeys: Readonly<Record<Scope | 'all', string>>;
  /** null: the process has ended. */
  memory(role: Role): Memory | null;
  resetPeaks(): void;
  /** Starts again what has ended; resolves when it works. */
  revive(): Promise<void>;
  /** Whether the kernel holds each process to its limit. */
  readonly enforced: boolean;
}

export async function startInstallation(): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-neighbours-'));
  const redis = await startRedis({ dir: folder });
  const config = join(folder, 'adjutant.json');
  const shared = { command: process.execPath, args: [SHARED_TOOL], lane: { concurrency: 8 } };
  // Calls that last longer than their attack are given back at the end.
  const worker = { drain_ms: 0 };
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { shared }, tenants: { hostile: {}, victim: {} }, worker }),
  );
  const port = await freePort();
  const adminKey = randomBytes(32).toString('hex');
  const env = { REDIS_URL: redis.url, ADJUTANT_ADMIN_KEY: adminKey, ADJUTANT_LOG_LEVEL: 'warn' };
  const groups = new Map(ROLES.map((role) => [role, cgroupOf(role)]));
  const children = new Map<Role, Child>();
  const url = `http://127.0.0.1:${port}`;
  const start = async (role: Role): Promise<void> => {
    const own = role === 'api' ? ['--port', String(port)] : [];
    const args = [`--max-old-space-size=${HEAP_MIB}`, PROGRAM, role, '--config', config, ...own];
    const child = spawnIn(groups.get(role) ?? null, args, env);
    children.set(role, child);
    await (role === 'api' ? untilHealthy(url, child) : child.waitForLine(/ready|works/));
  };
  await Promise.all(ROLES.map(start));
  const made = await makeKeys(url, adminKey);
  await untilServed(url, made.victimKey);
  return {
    url,
    ...made,
    enforced: [...groups.values()].every((group) => group !== null),
    memory: (role) => memoryOf(children.get(role)?.pid ?? 0),
    resetPeaks() {
      for (const { pid } of children.values()) forgetPeak(pid);
    },
    async revive() {
      const ended = ROLES.filter((role) => memoryOf(children.get(role)?.pid ?? 0) === null);
      await Promise.all(ended.map(start));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...children.values()].map(async (child) => child.stop()));
      await redis.stop();
      for (const group of groups.values()) if (group !== null) rmdirSync(group);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function makeKeys(url: string, adminKey: string) {
  const admin = createAccessClient({ baseUrl: url, apiKey: adminKey });
  const make = async (tenant: string, scopes: readonly Scope[]): Promise<string> =>
    (await admin.create({ name: 'neighbours', tenant, scopes: [...scopes] })).key;
  const all = await make('hostile', SCOPES);
  const each = await Promise.all(
    SCOPES.map(async (scope) => [scope, await make('hostile', [scope])] as const),
  );
  const hostileKeys = { all, ...(Object.fromEntries(each) as Record<Scope, string>) };
  return { hostileKeys, victimKey: await make('victim', ['submit', 'read']) };
}

async function untilHealthy(url: string, child: Child): Promise<void> {
  let ended = false;
  void child.exited.then(() => (ended = true));
  for (;;) {
    if (
      await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    if (ended) throw new Error(`The API has ended:\n${child.lines.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A worker announces its tools after it has begun, and the API reads them then. */
async function untilServed(url: string, key: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/v1/tools`, { headers: { authorization: `Bearer ${key}` } });
    if ((await answer.text()).includes('shared.answer')) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** null: this machine does not let the test limit a process. */
function cgroupOf(role: Role): string | null {
  const group = join(CGROUPS, `adjutant-neighbours-${process.pid}-${role}`);
  try {
    mkdirSync(group);
    // A worker's MCP servers are in its group: they get as much again, as in the manifests.
    const limitMiB = role === 'worker' ? 2 * LIMIT_MIB : LIMIT_MIB;
    writeFileSync(join(group, 'memory.limit_in_bytes'), String(limitMiB * 1_024 * 1_024));
    return group;
  } catch {
    return null;
  }
}

function spawnIn(group: string | null, args: readonly string[], env: Record<string, string>): Child {
  if (group === null) return spawnProcess(process.execPath, args, { env });
  const script = 'echo $$ >"$0" && exec "$@"';
  return spawnProcess('sh', ['-c', script, join(group, 'cgroup.procs'), process.execPath, ...args], { env });
}

function memoryOf(pid: number): Memory | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1_024;
    return Number.isNaN(mib('VmHWM')) ? null : { residentMiB: mib('VmRSS'), peakMiB: mib('VmHWM') };
  } catch {
    return null;
  }
}

function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // A process that has ended, or a system that keeps the peak of the whole life.
  }
}
