/** Finds redis-server, or installs it.
 *  It must never leave a service running that the installation started. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Unprepared } from './unprepared.mjs';

const ADVICE =
  'redis-server was not found: install it (Debian, Ubuntu: `apt-get install redis-server`; macOS: `brew install redis`)';

/**
 * The path of redis-server; installs it first if it is missing.
 * @param {boolean} urlWouldDo whether setting REDIS_URL would make a local server unnecessary
 */
export function ensureRedisServer(urlWouldDo) {
  const found = findRedisServer();
  if (found !== null) return found;
  installRedisServer();
  const installed = findRedisServer();
  if (installed !== null) return installed;
  throw new Unprepared(
    urlWouldDo
      ? `${ADVICE}, or set REDIS_URL to a Redis 7.0 or newer.`
      : `${ADVICE}, or set REDIS_SERVER to its path.`,
  );
}

function findRedisServer() {
  const named = process.env.REDIS_SERVER;
  if (named !== undefined && named !== '') return named;
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'redis-server')).find((path) => existsSync(path)) ?? null;
}

function installRedisServer() {
  if (process.platform === 'darwin' && succeeds('brew', ['--version'])) {
    announce('brew install redis');
    run('brew', ['install', '--quiet', 'redis']);
  } else if (process.platform === 'linux' && succeeds('apt-get', ['--version'])) {
    installWithApt();
  }
}

function installWithApt() {
  const sudo = rootPrefix();
  if (sudo === null) return;
  const asRoot = (command, ...args) =>
    run(...sudoed(sudo, ['env', 'DEBIAN_FRONTEND=noninteractive', command, ...args]));
  announce('apt-get install redis-server');
  asRoot('apt-get', 'update', '-qq');
  asRoot('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'redis-server');
  stopPackagedService(sudo);
}

/** The Debian package starts a Redis on port 6379; there was none before, so it is stopped. */
function stopPackagedService(sudo) {
  const stop = existsSync('/run/systemd/system')
    ? ['systemctl', 'disable', '--now', 'redis-server']
    : ['service', 'redis-server', 'stop'];
  const [command, args] = sudoed(sudo, stop);
  spawnSync(command, args, { stdio: 'ignore' });
}

/** The prefix that runs a command as root without a question: nothing or sudo; null when neither works. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return succeeds('sudo', ['-n', 'true']) ? ['sudo', '-n'] : null;
}

function sudoed(sudo, words) {
  const [command, ...args] = [...sudo, ...words];
  return [command, args];
}

function announce(what) {
  process.stderr.write(`redis-server was not found; installing it (${what}) …\n`);
}

/** Output goes to stderr: stdout belongs to the command that runs next. */
function run(command, args) {
  spawnSync(command, args, { stdio: ['ignore', 2, 2] });
}

function succeeds(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
