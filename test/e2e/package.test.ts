/** The package as a user has it: packed, installed in an empty project, type-checked, and run there.
 *  It must not fetch anything: what it depends on comes from the clone's own dependencies, and only what it declares. */
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filesOf, TEMPLATES } from '../../src/cli/templates.ts';
import { blocksOf, givenTo, PAGES } from '../support/documents.ts';
import { spawnProcess } from '../support/process.ts';
import { examplesOf, publicExports } from '../support/public-exports.ts';

const EXAMPLE = 'example-of-the-queue.ts';
const EVERYTHING = {
  command: 'node',
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio'],
};

let project: string;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'adjutant-package-'));
  const packed = run('npm', ['pack', '--pack-destination', project, '--json', '--loglevel=error'], '.');
  const [name = ''] = globSync('*.tgz', { cwd: project });
  expect(name, packed).not.toBe('');
  install(join(project, name));
}, 180_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

function run(command: string, args: readonly string[], cwd: string): string {
  const { REDIS_URL: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  expect(status, `${command} ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

/** Like npm, with links instead of downloads; without what only the clone's own work needs. */
function install(tarball: string): void {
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  mkdirSync(join(modules, 'adjutant'));
  run('tar', ['-xzf', tarball, '-C', join(modules, 'adjutant'), '--strip-components=1'], project);
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  };
  const needed = Object.entries(packages).filter(([path, { dev, devOptional, optional }]) => {
    const isTop = /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path);
    return isTop && !dev && !devOptional && !optional;
  });
  const own = ['@types/node', '@modelcontextprotocol/server-everything'].map(
    (name) => `node_modules/${name}`,
  );
  for (const path of [...needed.map(([each]) => each), ...own]) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    symlinkSync(resolve(path), join(project, path));
  }
  symlinkSync('../adjutant/scripts/adjutant.mjs', join(modules, '.bin', 'adjutant'));
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  );
}

test('the demo servers are no dependencies of the package, and what `init` writes fetches them', () => {
  const { dependencies } = JSON.parse(
    readFileSync(join(project, 'node_modules/adjutant/package.json'), 'utf8'),
  ) as { dependencies: object };
  const demo = Object.keys(dependencies).filter((name) => name.startsWith('@modelcontextprotocol/server-'));
  expect(demo).toEqual([]);
  const folder = join(project, 'fresh');
  mkdirSync(folder);
  run(process.execPath, [join(project, 'node_modules/adjutant/scripts/adjutant.mjs'), 'init'], folder);
  const written = readFileSync(join(folder, 'adjutant.json'), 'utf8');
  expect(written.match(/"command": "npx"/g)).toHaveLength(2);
});

/** The programs of the documents, the docstrings and the examples, each after the code that it requires. */
function samples(): [name: string, code: string][] {
  const blocks = PAGES.flatMap(blocksOf).filter(({ language }) => language === 'ts');
  const programs = globSync('examples/{*,modules/{webhook,briefing}}.ts').map((file) =>
    readFileSync(file, 'utf8'),
  );
  const shown = examplesOf(publicExports());
  const written = TEMPLATES.flatMap((template) => Object.entries(filesOf(template, '')));
  const templates = written.filter(([path]) => path.endsWith('.mts')).map(([, code]) => code);
  return [...blocks.map(({ code }) => code), ...programs, ...shown, ...templates].map((code, index) => [
    `sample-${index}.ts`,
    `${givenTo(code).join('\n')}\n${code}\nexport {};\n`,
  ]);
}

/** Every name that a program needs to write down, from both entry points. */
const NAMES = ['client', 'queue'].map(
  (door) => `import {
  DirectiveRefused, ServiceUnavailable,
  type DirectiveClient, type SubmittedDirective, type Submission, type Signal, type TerminalSignal, type Result,
  type ErrorEnvelope, type Problem, type FieldError, type RequestView, type DirectiveView, type RunView, type SubmittedRun,
  type ToolListing, type LaneListing, type AgentListing, type DeadLetter, type Cancellation, type ModelTurn, type Message,
} from 'adjutant/${door}';
export function why(error: unknown): string | null {
  if (error instanceof DirectiveRefused) return error.problem.code;
  return error instanceof ServiceUnavailable ? String(error.retryAfterMs) : null;
}
export type All = [DirectiveClient, SubmittedDirective, Submission, Signal, TerminalSignal, Result, ErrorEnvelope, Problem,
  FieldError, RequestView, DirectiveView, RunView, SubmittedRun, ToolListing, LaneListing, AgentListing, DeadLetter,
  Cancellation, ModelTurn, Message];
`,
);

/** The contract's modules by the names that programs use, wherever their files lie. */
const CONTRACT = `import { submittedDirectiveSchema } from 'adjutant/contract/directive';
import { messageSchema } from 'adjutant/contract/message';
import { startRunBodySchema } from 'adjutant/contract/run';
import { createScheduleBodySchema } from 'adjutant/contract/schedule';
import { isTerminalSignal, signalSchema } from 'adjutant/contract/signal';
import { webhookEventSchema } from 'adjutant/contract/webhook-event';
import { wireComponents } from 'adjutant/contract/wire-schema';
export const read = signalSchema.parse(JSON.parse('{}'));
export const all = [submittedDirectiveSchema, messageSchema, startRunBodySchema, createScheduleBodySchema, webhookEventSchema,
  isTerminalSignal, wireComponents];
`;

test.each([
  ['nodenext', 'nodenext', { skipLibCheck: false }],
  ['esnext', 'bundler', { skipLibCheck: true }],
])('the documented programs fit its types: module %s, resolution %s', (module, moduleResolution, more) => {
  const names = [...NAMES, CONTRACT].map((code, index) => [`names-${index}.ts`, code] as const);
  const files = [...samples(), ...names];
  expect(files.length).toBeGreaterThan(8);
  for (const [name, code] of files) writeFileSync(join(project, name), code);
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable'],
    types: ['node'],
    module,
    moduleResolution,
    strict: true,
    noEmit: true,
    ...more,
  };
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: files.map(([name]) => name) }),
  );
  run(resolve('node_modules/.bin/tsc'), ['-p', 'tsconfig.json', '--singleThreaded'], project);
});

test('npx adjutant init --directive finds the texts of the folder', () => {
  const printed = run('npx', ['--no-install', 'adjutant', 'init', '--directive'], project);
  expect(printed).toContain('(copied 5, skipped 0)');
  const bundle = run('npx', ['--no-install', 'adjutant', 'bundle', 'tdr_template.md'], project);
  expect(bundle).toContain('Do not write code');
});

test('npx adjutant up runs in the empty project', async () => {
  writeFileSync(join(project, 'adjutant.json'), JSON.stringify({ mcpServers: { everything: EVERYTHING } }));
  writeFileSync(join(project, EXAMPLE), readFileSync('examples/queue.ts'));
  const env = { REDIS_URL: undefined, ADJUTANT_LOG_LEVEL: 'warn' };
  const up = spawnProcess('npx', ['--no-install', 'adjutant', 'up', '--port', '0'], { cwd: project, env });
  const url = /http:\S+/.exec(await up.waitForLine(/^adjutant listens on/, 60_000))?.[0] ?? '';
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  // The example finds the private Redis of the folder.
  const example = run(process.execPath, [EXAMPLE], project);
  expect(example).toContain('ai.tool.result');
  expect(example).toContain('straight through the queue');
  await up.stop();
});
