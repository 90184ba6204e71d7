/** What the npm scripts do before the product starts, in a copy of the clone's scripts with stand-ins for npm and apt.
 *  It must not install anything. */
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ChildExit, spawnNode, spawnProcess } from '../support/process.ts';

/** A clone whose demo and whose `up` print their arguments, and a PATH with only stand-ins. */
interface Clone {
  readonly folder: string;
  readonly tools: string;
}

const LOCK = {
  packages: {
    '': {},
    'node_modules/one': { version: '1.0.0' },
    'node_modules/two': { version: '2.0.0', optional: true },
  },
};

let clone: Clone;

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-clone-'));
  const tools = join(folder, 'tools');
  await mkdir(join(folder, 'node_modules', '.bin'), { recursive: true });
  await mkdir(join(folder, 'src', 'cli'), { recursive: true });
  await mkdir(tools);
  await cp(resolve('scripts'), join(folder, 'scripts'), { recursive: true });
  await symlink(process.execPath, join(folder, 'node_modules', '.bin', 'node'));
  await cp(resolve('package.json'), join(folder, 'package.json'));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(LOCK));
  const program = 'console.log("args", process.argv.slice(2).join(" ")); process.exitCode = 7;';
  await writeFile(join(folder, 'src', 'cli', 'main.ts'), program);
  clone = { folder, tools };
});

afterEach(async () => rm(clone.folder, { recursive: true, force: true }));

/** A tool on the PATH that leaves a line with its name and arguments, then runs `then`. */
async function standIn(name: string, then: string): Promise<void> {
  await writeFile(join(clone.tools, name), `#!/bin/sh\necho "${name} $*"\n${then}\n`, { mode: 0o755 });
}

async function installed(packages: object): Promise<void> {
  await writeFile(join(clone.folder, 'node_modules', '.package-lock.json'), JSON.stringify({ packages }));
}

async function run(
  script: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ exit: ChildExit; lines: readonly string[] }> {
  const child = spawnNode([join(clone.folder, 'scripts', script), ...args], {
    cwd: clone.folder,
    env: {
      PATH: clone.tools,
      REDIS_URL: undefined,
      REDIS_SERVER: undefined,
      npm_execpath: undefined,
      ...env,
    },
  });
  return { exit: await child.exited, lines: child.lines };
}

test('dependencies that match the lock file are kept, though a package of another platform is absent', async () => {
  await standIn('npm', 'exit 1');
  await installed({ 'node_modules/one': { version: '1.0.0' } });
  const { exit, lines } = await run('run.mjs', ['start', '--port', '0'], { REDIS_URL: 'redis://elsewhere' });
  expect(lines).toEqual(['args up --port 0']);
  expect(exit.code).toBe(7);
});

test.each([
  ['nothing is installed', null],
  ['a package is absent', {}],
  ['a package has another version', { 'node_modules/one': { version: '1.0.1' } }],
])('when %s, npm ci runs first', async (_, packages) => {
  await standIn('npm', 'exit 0');
  if (packages !== null) await installed(packages);
  const { lines } = await run('run.mjs', ['start'], { REDIS_URL: 'redis://elsewhere' });
  expect(lines).toContain('npm ci --include=dev --no-audit --no-fund --loglevel=error');
  expect(lines.at(-1)).toBe('args up');
});

test('a failing npm ci ends in one sentence', async () => {
  await standIn('npm', 'exit 1');
  const { exit, lines } = await run('run.mjs', ['start']);
  expect(lines.at(-1)).toBe('adjutant: `npm ci` failed; its message above says why.');
  expect(exit.code).toBe(2);
});

test('without redis-server and without a way to install it, one sentence names the remedy', async () => {
  await installed({ 'node_modules/one': { version: '1.0.0' } });
  const { exit, lines } = await run('run.mjs', ['start']);
  expect(lines).toEqual([
    expect.stringMatching(/^adjutant: redis-server was not found: install it .* or set REDIS_URL/),
  ]);
  expect(exit.code).toBe(2);
});

test.skipIf(process.platform !== 'linux')(
  'as root, or with sudo that asks for no password, redis-server comes through apt after an update, and its service is stopped',
  async () => {
    await installed({ 'node_modules/one': { version: '1.0.0' } });
    const drop = `echo > "${clone.tools}/redis-server"`;
    await standIn('apt-get', `case "$*" in *install*) ${drop};; esac`);
    await standIn('env', 'shift; exec "$@"');
    await standIn('sudo', 'shift; exec "$@"');
    await standIn('true', '');
    await standIn('systemctl', `echo stopped >> "${clone.folder}/stopped"`);
    await standIn('service', `echo stopped >> "${clone.folder}/stopped"`);
    const { lines } = await run('run.mjs', ['start']);
    expect(existsSync(join(clone.folder, 'stopped'))).toBe(true);
    const apt = lines.filter((line) => line.startsWith('apt-get'));
    expect(apt).toEqual([
      'apt-get update -qq',
      'apt-get install -y -qq --no-install-recommends redis-server',
    ]);
    expect(lines.at(-1)).toBe('args up');
  },
);

test('the command passes on arguments, and the exit code comes back', async () => {
  await installed({ 'node_modules/one': { version: '1.0.0' } });
  const { exit, lines } = await run('adjutant.mjs', ['call', 'a.b', '{"x": 1}']);
  expect(lines).toEqual(['args call a.b {"x": 1}']);
  expect(exit.code).toBe(7);
});

test.each([
  ['a clone whose pinned Node was not installed', true, /let npm run install scripts/],
  ['an installed package', false, /newer \(https:\/\/nodejs\.org\)\.$/],
])(
  'on an old Node, the command of %s prints one line that names what to install',
  async (_, isClone, fix) => {
    await installed({ 'node_modules/one': { version: '1.0.0' } });
    await rm(join(clone.folder, 'node_modules', '.bin', 'node'));
    if (!isClone)
      for (const part of ['src', 'package-lock.json'])
        await rm(join(clone.folder, part), { recursive: true });
    const old =
      'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.11.0" } })';
    const child = spawnNode([
      `--import=data:text/javascript,${old}`,
      join(clone.folder, 'scripts', 'adjutant.mjs'),
    ]);
    expect(await child.exited).toMatchObject({ code: 2 });
    expect(child.lines).toEqual([
      expect.stringMatching(/^adjutant: Node 20\.11\.0 is too old: install Node 22\.15/),
    ]);
    expect(child.lines[0]).toMatch(fix);
  },
);

test.each([
  ['the command', process.execPath, ['scripts/adjutant.mjs']],
  [
    'the command on a Node that cannot replace a process',
    process.execPath,
    ['--import=data:text/javascript,delete process.execve', 'scripts/adjutant.mjs'],
  ],
  ['npm start', 'npm', ['--silent', 'start']],
])(
  'a signal to %s reaches the program once, and the end of the program is awaited',
  async (_, command, args) => {
    await installed({ 'node_modules/one': { version: '1.0.0' } });
    const program = [
      `process.on('SIGTERM', () => { console.log('stopping'); setTimeout(() => process.exit(3), 200); });`,
      `setInterval(() => {}, 1000);`,
      `console.log('up');`,
    ];
    await writeFile(join(clone.folder, 'src', 'cli', 'main.ts'), program.join('\n'));
    const child = spawnProcess(command, args, { cwd: clone.folder, env: { REDIS_URL: 'redis://elsewhere' } });
    await child.waitForLine(/^up$/);
    const exit = await child.stop();
    expect(child.lines.filter((line) => line === 'stopping')).toHaveLength(1);
    expect(exit.code).toBe(3);
  },
);
