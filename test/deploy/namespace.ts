// A place in which podman runs the composition without systemd and beside anything else: network and mounts of its own.
// Must never change the network or the mounts of the machine.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { must, programPath, run } from './commands.ts';

/** The programs that the composition needs. */
const NEEDED = ['podman', 'podman-compose', 'crun', 'conmon', 'catatonit', 'iptables', 'unshare', 'ip'];
/** Where distributions keep what podman starts for networks and names. */
const HELPERS = ['/usr/lib/podman', '/usr/libexec/podman', '/usr/local/libexec/podman'];

/** Why the composition cannot run here; null: it can. */
export function obstacle(): string | null {
  if (process.getuid?.() !== 0) return 'it needs root (network namespaces)';
  const helpers = ['netavark', 'aardvark-dns'].filter(
    (name) =>
      programPath(name) === null &&
      !HELPERS.some((folder) => run('test', ['-x', join(folder, name)]).code === 0),
  );
  const missing = [...NEEDED.filter((name) => programPath(name) === null), ...helpers];
  if (missing.length === 0) return null;
  return `${missing.join(', ')} missing (Debian: apt-get install podman crun conmon netavark aardvark-dns catatonit iptables iproute2; pip install podman-compose)`;
}

/** Settings of podman that work with and without systemd, cgroups version 2 and raised limits. Returns the environment for them. */
export function podmanEnvironment(folder: string): NodeJS.ProcessEnv {
  const files = must('bash', ['-c', 'ulimit -Hn']).trim();
  const limits = files === 'unlimited' ? '1048576' : files;
  const lines = [
    '[containers]',
    'cgroups = "disabled"',
    `default_ulimits = ["nofile=${limits}:${limits}", "nproc=32768:32768"]`,
    'log_driver = "k8s-file"',
    `init_path = "${programPath('catatonit')}"`,
    '[engine]',
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    '[network]',
    'network_backend = "netavark"',
  ];
  const path = join(folder, 'containers.conf');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return { ...process.env, CONTAINERS_CONF: path };
}

/** crun refuses the mix of both versions of cgroups: in here there is only the first. */
const PREPARE = `ip link set lo up
if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
exec "$@"`;

/** The command that runs `command` in a namespace of its own; it ends with what runs in it. */
export function inNamespace(command: readonly string[]): [string, string[]] {
  return ['unshare', ['--mount', '--net', '--propagation', 'private', 'sh', '-c', PREPARE, 'sh', ...command]];
}
