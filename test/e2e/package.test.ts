/** The packages as a user has them: packed by a dry release, installed in an empty project, type-checked, and run there.
 *  It must not fetch anything: what it depends on comes from the clone's own dependencies, and only what it declares. */
import { spawnSync } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filesOf, TEMPLATES } from '../../src/cli/templates.ts';
import { CLIENT_FILE } from '../../examples/browser/serve.ts';
import { parse } from 'yaml';
import { blocksOf, givenTo, PAGES } from '../support/documents.ts';
import { spawnNode, spawnProcess } from '../support/process.ts';
import { examplesOf, publicExports } from '../support/public-exports.ts';
import { startRedis } from '../support/redis.ts';

const EXAMPLE = 'example-of-the-queue.ts';
const EVERYTHING = {
  command: 'node',
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio'],
};

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const MEGABYTE = 1_000_000;
/** Bounds of the service's package, packed and unpacked, and of the code that a program with the client loads. */
const MOST_BYTES = { packed: 1.5 * MEGABYTE, unpacked: 5.2 * MEGABYTE, client: 30 * 1_024 };

let project: string;
let published: string[];

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'adjutant-package-'));
  const image = ['--image', 'registry.example/adjutant'];
  const printed = run('node', ['scripts/release.ts', '--to', join(project, 'release'), ...image], '.');
  published = printed.trim().split('\n');
  install();
}, 600_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

function run(command: string, args: readonly string[], cwd: string): string {
  const { REDIS_URL: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  expect(status, `${command} ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

/** Like npm, with links instead of downloads; without what only the clone's own work needs. */
function install(): void {
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const [name, packed] of [
    ['adjutant', 'adjutant'],
    ['@adjutant/client', 'adjutant-client'],
  ] as const) {
    mkdirSync(join(modules, name), { recursive: true });
    const tarball = join(project, 'release', `${packed}-${version}.tgz`);
    run('tar', ['-xzf', tarball, '-C', join(modules, name), '--strip-components=1'], project);
  }
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean; link?: boolean }>;
  };
  const needed = Object.entries(packages).filter(([path, { dev, devOptional, optional, link }]) => {
    const isTop = /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path);
    return isTop && !dev && !devOptional && !optional && !link;
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

test('a dry release has both packages and the documentation, and names the commands that publish them', () => {
  expect(globSync('{*.tgz,docs/index.html}', { cwd: join(project, 'release') }).toSorted()).toEqual([
    `adjutant-${version}.tgz`,
    `adjutant-client-${version}.tgz`,
    'docs/index.html',
  ]);
  expect(published.map((line) => line.replaceAll(project, ''))).toEqual([
    `npm publish /release/adjutant-client-${version}.tgz --access public`,
    `npm publish /release/adjutant-${version}.tgz --access public`,
    expect.stringMatching(`^docker buildx build .*--tag registry.example/adjutant:${version} .*--push \\.$`),
  ]);
  // The workflow runs commands of the clone: its own script for everything that is published.
  const { jobs } = parse(readFileSync('.github/workflows/release.yml', 'utf8')) as {
    jobs: Record<string, { steps: { run?: string }[] }>;
  };
  const commands = Object.values(jobs).flatMap(({ steps }) =>
    steps.flatMap(({ run: command }) => command ?? []),
  );
  expect(commands).toEqual([
    '.ci/run',
    'npm run test:kills',
    expect.stringMatching(/^npm run release -- --publish --image /),
  ]);
});

test('the service comes without source maps and demonstrations, and both packages are small', () => {
  const packed = statSync(join(project, 'release', `adjutant-${version}.tgz`)).size;
  const files = globSync('**/*', { cwd: join(project, 'node_modules/adjutant'), withFileTypes: true });
  const sizes = files
    .filter((file) => file.isFile())
    .map((file) => statSync(join(file.parentPath, file.name)).size);
  expect(files.filter(({ name }) => /\.map$|^bank\./.test(name))).toEqual([]);
  expect(packed).toBeLessThanOrEqual(MOST_BYTES.packed);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MOST_BYTES.unpacked);
});

test('bundled code and fonts of others come with their licences', () => {
  const held = {
    'adjutant/dist/console': [
      'react',
      'react-dom',
      '@base-ui/react',
      '@tanstack/query-core',
      '@fontsource-variable/inter',
    ],
    '@adjutant/client/dist': ['eventsource-parser', 'uuid'],
  };
  for (const [folder, names] of Object.entries(held)) {
    const text = readFileSync(join(project, 'node_modules', folder, 'LICENSES'), 'utf8');
    const listed = [...text.matchAll(/^(?<name>\S+) \d\S* \((?:MIT|OFL-1\.1)\)$/gm)].map(
      ({ groups }) => groups?.['name'],
    );
    expect(listed).toEqual(expect.arrayContaining(names));
    expect(text.match(/^.*Copyright/gim)?.length).toBeGreaterThanOrEqual(listed.length);
  }
});

test('@adjutant/client is for browsers and Node alike, without a dependency or an import of another module', () => {
  const client = join(project, 'node_modules/@adjutant/client');
  const read = (name: string): string => readFileSync(join(client, name), 'utf8');
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(read('package.json')) as Record<
    string,
    object
  >;
  expect([dependencies, Object.keys(peerDependencies ?? {})]).toEqual([undefined, ['react']]);
  expect(peerDependenciesMeta).toEqual({ react: { optional: true } });
  const importsOf = (file: string): string[] =>
    [...read(file).matchAll(/(?:\bimport\s*\(?|\bfrom)\s*["'](?<from>[^"']+)["']/g)].map(
      ({ groups }) => groups?.['from'] ?? '',
    );
  for (const entry of ['client', 'runs']) {
    const loaded = new Set([`dist/${entry}.js`]);
    for (const file of loaded) for (const name of importsOf(file)) loaded.add(join('dist', name));
    if (entry === 'client')
      for (const file of loaded)
        expect(file.replace('dist', ''), 'the example serves it').toMatch(CLIENT_FILE);
    const code = [...loaded].map(read).join('');
    expect(Buffer.byteLength(code), entry).toBeLessThanOrEqual(MOST_BYTES.client);
  }
  const files = globSync('dist/*', { cwd: client }).map((file) => file.replace('dist/', './'));
  const imports = files.flatMap((file) => importsOf(join('dist', file)));
  expect(importsOf('dist/react.js')).toEqual(['react', './client.js']);
  expect(importsOf('dist/ai-sdk.js')).toEqual(['./message-chunks.js']);
  expect(importsOf('dist/message-chunks.js')).toEqual(['./client.js']);
  // The examples in docstrings name the package that a program has.
  expect(files).toEqual(
    expect.arrayContaining(imports.filter((name) => name !== 'react' && !name.startsWith('adjutant/'))),
  );
});

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

/** Every name that a program needs to write down, from each entry point. */
const NAMES = ['adjutant/client', 'adjutant/queue', '@adjutant/client', '@adjutant/client/encryption'].map(
  (door) => `import {
  DirectiveRefused, ServiceUnavailable,
  type DirectiveClient, type SubmittedDirective, type Submission, type Signal, type TerminalSignal, type Result,
  type ErrorEnvelope, type Problem, type FieldError, type RequestView, type DirectiveView, type RunView, type SubmittedRun,
  type ToolListing, type LaneListing, type AgentListing, type DeadLetter, type Cancellation, type ModelTurn, type Message,
} from '${door}';
export function why(error: unknown): string | null {
  if (error instanceof DirectiveRefused) return error.problem.code;
  return error instanceof ServiceUnavailable ? String(error.retryAfterMs) : null;
}
export type All = [DirectiveClient, SubmittedDirective, Submission, Signal, TerminalSignal, Result, ErrorEnvelope, Problem,
  FieldError, RequestView, DirectiveView, RunView, SubmittedRun, ToolListing, LaneListing, AgentListing, DeadLetter,
  Cancellation, ModelTurn, Message];
`,
);

/** The client of a program's own runs is the same by each name, and refuses with the class of the other entry. */
const RUNS = `import { DirectiveRefused } from '@adjutant/client';
import { createRunClient, type ForeignRunClient, type StepOptions } from '@adjutant/client/runs';
import { createRunClient as fromService } from 'adjutant/client';
const options: StepOptions = { effect: 'once' };
export const runs: ForeignRunClient[] = [createRunClient, fromService].map((create) => create({ baseUrl: 'http://a' }));
export const booked: Promise<number>[] = runs.map((each) => each.step('a', 'b', () => 1, options));
export const isRefusal = (error: unknown): boolean => error instanceof DirectiveRefused;
`;

/** A transport of chats by the client of either package. */
const CHAT = `import { createHttpClient } from '@adjutant/client';
import { createChatTransport, type MessageChunk, uiMessageStream } from '@adjutant/client/ai-sdk';
import { createHttpClient as fromService } from 'adjutant/client';
const storage = new Map<string, string>();
const kept = { getItem: (chat: string) => storage.get(chat) ?? null, setItem: (chat: string, run: string) => void storage.set(chat, run) };
const clients = [createHttpClient({ baseUrl: 'http://a' }), fromService({ baseUrl: 'http://a' })] as const;
export const transports = clients.map((client) => createChatTransport({ client, agent: 'a', storage: kept }));
export const streams: ReadableStream<MessageChunk>[] = clients.map((client) => uiMessageStream(client, 'r'));
`;

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
  const names = [...NAMES, RUNS, CHAT, CONTRACT].map((code, index) => [`names-${index}.ts`, code] as const);
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

type Door = typeof import('../../src/client/http-client.ts');

/** Nothing of the environment of this test but where programs are. */
const EMPTY = {
  ...Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined])),
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
};

test('a module of a folder that npm init has made CommonJS is refused with the name that works', async () => {
  const folder = join(project, 'commonjs');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'commonjs' }));
  writeFileSync(
    join(folder, 'clerk.ts'),
    "import 'adjutant/engine';\nexport const clerk = { name: 'clerk' };\n",
  );
  writeFileSync(join(folder, 'adjutant.json'), JSON.stringify({ agents: ['./clerk.ts'] }));
  const up = spawnProcess('npx', ['--no-install', 'adjutant', 'up', '--port', '0'], {
    cwd: folder,
    env: EMPTY,
  });
  expect(await up.exited).toMatchObject({ code: 1 });
  expect(up.lines.join('\n')).toContain('fix Rename the file to ./clerk.mts');
});

/** At SIGUSR2: prints the packages that a process has loaded, and then each time that its young generation is found small. */
const REST = `import { registerHooks } from 'node:module';
import { getHeapSpaceStatistics } from 'node:v8';
const packages = new Set();
registerHooks({ load(url, context, next) {
  packages.add(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]);
  return next(url, context);
} });
process.on('SIGUSR2', () => {
  console.log('packages', JSON.stringify([...packages]));
  setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    if (young.physical_space_size < ${8 * MEGABYTE}) console.log('small again');
  }, 200).unref();
});
`;

test('an engine loads no library of another role, and returns the memory that its start took', async () => {
  const redis = await startRedis();
  writeFileSync(join(project, 'rest.mjs'), REST);
  const program = join(project, 'node_modules/adjutant/dist/cli/main.js');
  const engine = spawnNode(['--import', './rest.mjs', program, 'engine'], {
    cwd: project,
    env: { ...EMPTY, REDIS_URL: redis.url },
  });
  await engine.waitForLine(/^adjutant works/);
  process.kill(engine.pid, 'SIGUSR2');
  const line = await engine.waitForLine(/^packages/);
  const packages = JSON.parse(line.slice('packages'.length)) as string[];
  expect(packages).toContain('bullmq');
  const ofOthers =
    /^(?:fastify|undici|oidc-provider|@ai-sdk\/(?!provider$).*|@modelcontextprotocol\/.*|@opentelemetry\/.*)$/;
  expect(packages.filter((name) => ofOthers.test(name))).toEqual([]);
  // Loading lets it grow to 48 MB, which V8 alone keeps for more than a minute.
  await engine.waitForLine(/^small again/, 60_000);
  await engine.stop();
  await redis.stop();
});

test('npx adjutant up runs in the empty project, in an empty environment', async () => {
  writeFileSync(join(project, 'adjutant.json'), JSON.stringify({ mcpServers: { everything: EVERYTHING } }));
  writeFileSync(join(project, EXAMPLE), readFileSync('examples/queue.ts'));
  const up = spawnProcess('npx', ['--no-install', 'adjutant', 'up', '--port', '0'], {
    cwd: project,
    env: EMPTY,
  });
  const url = /http:\S+/.exec(await up.waitForLine(/^adjutant listens on/, 60_000))?.[0] ?? '';
  for (const path of ['/readyz', '/', '/docs/', '/docs/api'])
    expect((await fetch(url + path)).status, path).toBe(200);
  const { createHttpClient } = (await import(
    join(project, 'node_modules/@adjutant/client/dist/client.js')
  )) as Door;
  const client = createHttpClient({ baseUrl: url });
  const call = { type: 'tool_exec', tool_name: 'everything.get-sum', arguments: { a: 2, b: 3 } } as const;
  expect((await client.execute(call)).data.result).toMatchObject({
    ok: true,
    payload: 'The sum of 2 and 3 is 5.',
  });
  await client.close();
  // The example finds the private Redis of the folder.
  const example = run(process.execPath, [EXAMPLE], project);
  expect(example).toContain('ai.tool.result');
  expect(example).toContain('straight through the queue');
  await up.stop();
});
