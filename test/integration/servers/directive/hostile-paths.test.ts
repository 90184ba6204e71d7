/** Ten thousand paths of a hostile client: nothing outside the folder is looked at, and no error shows what is there.
 *  It must not trust what the server says: it records which paths the file system was asked for. */
import { execFileSync } from 'node:child_process';
import nodeFs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { isAbsolute, join, sep } from 'node:path';
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDirectiveFolder } from '../../../../src/servers/directive/directive-folder.ts';
import { type Refusal, serverFault } from '../../../../src/servers/directive/refusal.ts';
import { anyCharacter } from '../../../support/any-character.ts';
import { callTool } from '../../../../src/servers/directive/server.ts';

const SECRET = 'SECRET-7f3a';
const PATHS = 10_000;
/** Asked at once: a call is mostly waiting. */
const BATCH = 50;
const PRECOMPOSED = 'caf\u00E9.md';
const DECOMPOSED = 'cafe\u0301.md';

/** Path below directive/ → content. Each says where it is. */
const INSIDE = [
  'reference/agent_context.md',
  'reference/templates/spec_template.md',
  'a/b/c/deep.md',
  '.hidden',
  ' ',
  'back\\slash.md',
  '%2e%2e.md',
  '...',
  'directive/again.md',
  PRECOMPOSED,
];

let base: string;
let root: string;
let socket: Server;
const asked = new Set<string>();
const restore: (() => void)[] = [];

beforeAll(async () => {
  base = await mkdtemp(join(await nodeFs.realpath(tmpdir()), 'adjutant-hostile-'));
  root = join(base, 'place', 'directive');
  await fillInside();
  await fillOutside();
  record();
});
afterAll(async () => {
  for (const undo of restore) undo();
  socket?.close();
  await rm(base, { recursive: true, force: true });
});

async function fillInside(): Promise<void> {
  for (const path of INSIDE) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), `inside ${path}`);
  }
  await writeFile(join(root, 'latin1.md'), Buffer.from([0x63, 0xe9]));
  await writeFile(join(root, 'huge.md'), SECRET);
  await truncate(join(root, 'huge.md'), 8 * 1024 ** 3);
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(root, 'pipe')]);
  socket = createServer().listen(join(root, 'socket'));
}

async function fillOutside(): Promise<void> {
  await mkdir(join(base, 'place', 'directive-evil'));
  await mkdir(join(base, 'place', 'directive2'));
  for (const path of [
    'secret.md',
    'place/secret.md',
    'place/directive-evil/secret.md',
    'place/directive2/secret.md',
  ])
    await writeFile(join(base, path), SECRET);
  const links: Record<string, string> = {
    'link-in': 'reference/agent_context.md',
    'link-folder': 'a/b',
    'link-up-and-in': 'a/../reference/agent_context.md',
    'link-absolute-in': join(root, 'a/b/c/deep.md'),
    'link-self': '.',
    'link-root': root,
    'link-out': '../secret.md',
    'link-out-and-in': '../directive/reference/agent_context.md',
    'link-parent': '..',
    'link-evil': '../directive-evil',
    'link-absolute-out': join(base, 'secret.md'),
    'link-absolute-evil': `${root}-evil`,
    'link-absolute-dots': `${root}/../secret.md`,
    'link-slash': '/',
    'link-zero': '/dev/zero',
    'link-stdin': '/dev/stdin',
    'link-circle': 'link-circle-2',
    'link-circle-2': 'link-circle',
    'link-dangling': '../no-such-file',
    'a/link-up': '../../secret.md',
    'a/b/link-far-up': '../../../../secret.md',
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
}

/** Every function of node:fs/promises notes the paths that it is given. */
function record(): void {
  const functions = nodeFs as unknown as Record<string, unknown>;
  for (const [name, real] of Object.entries(functions)) {
    if (typeof real !== 'function') continue;
    functions[name] = (...args: unknown[]) => {
      for (const arg of args) if (typeof arg === 'string') asked.add(`${name} ${arg}`);
      return (real as (...all: unknown[]) => unknown)(...args);
    };
    restore.push(() => void (functions[name] = real));
  }
  syncBuiltinESMExports();
  restore.push(() => syncBuiltinESMExports());
}

const NAMES = [
  ...INSIDE.flatMap((path) => path.split('/')),
  'directive',
  'directive-evil',
  'directive2',
  'place',
  'secret.md',
  'huge.md',
  'latin1.md',
  'pipe',
  'socket',
  'link-in',
  'link-folder',
  'link-up-and-in',
  'link-absolute-in',
  'link-self',
  'link-root',
  'link-out',
  'link-out-and-in',
  'link-parent',
  'link-evil',
  'link-absolute-out',
  'link-absolute-evil',
  'link-absolute-dots',
  'link-slash',
  'link-zero',
  'link-stdin',
  'link-circle',
  'link-dangling',
  'link-up',
  'link-far-up',
  'etc',
  'passwd',
  'proc',
  'self',
  'environ',
  'dev',
  'zero',
  'tmp',
  'agent_context.md',
  'c',
  'deep.md',
  DECOMPOSED,
  PRECOMPOSED.toUpperCase(),
  'REFERENCE',
  'Agent_Context.md',
  '\uFF0E\uFF0E',
  '\u2025',
  '%2e%2e',
  '..%2f',
  '..\0',
  '\0',
  '..\\',
  '..;',
  '. .',
  '\uD800',
  'a\u0000b',
  '~',
  '$HOME',
  '*',
  'x'.repeat(300),
  '\u202E..',
];

const segment = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...NAMES) },
  { weight: 5, arbitrary: fc.constantFrom('..', '.', '') },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 12 }) },
);
const start = fc.constantFrom(
  '',
  '',
  '',
  '/',
  '//',
  './',
  'directive/',
  'directive//',
  '../',
  'file://',
  'C:\\',
  '<base>/',
  '<root>/',
  '<root>-evil/',
);
const free = fc
  .tuple(start, fc.array(segment, { maxLength: 7 }), fc.constantFrom('/', '/', '/', '//', '\\', '/./'))
  .map(([first, segments, joint]) => first + segments.join(joint));
const fromInside = fc
  .tuple(
    fc.constantFrom(...INSIDE),
    fc.constantFrom('', 'directive/', 'link-self/', 'link-root/', 'a/../', '/'),
  )
  .map(([path, first]) => first + path);
const long = fc
  .tuple(
    fc.constantFrom('../', './', 'a/', 'link-self/', 'link-root/', 'a/b/../../', 'x'),
    fc.integer({ min: 1, max: 3_000 }),
  )
  .map(([piece, times]) => `${piece.repeat(times)}reference/agent_context.md`);
const anyPath = fc
  .oneof({ weight: 8, arbitrary: free }, { weight: 2, arbitrary: fromInside }, { weight: 1, arbitrary: long })
  .map((path) => path.replace('<base>', base).replace('<root>', root));

/** All that a refusal may say. */
const FAULTS = [
  serverFault('Path escape detected; refusing to read outside directive root', 'path'),
  serverFault('path must not contain a NUL character', 'path'),
  serverFault('File is not valid UTF-8'),
  serverFault('File is larger than 1048576 bytes'),
];
const notFound = (path: string): Refusal => ({
  code: 1001,
  message: `File not found under directive/: ${path.length > 4_096 ? `${path.slice(0, 4_096)}…` : path}`,
});

/** Paths that the server may ask for: the way to the folder, and what is in it. */
function outsideAsked(): string[] {
  const ways = new Set([join(base, 'place'), root]);
  return [...asked].filter((each) => {
    const path = each.slice(each.indexOf(' ') + 1);
    const isInside = path.startsWith(`${root}${sep}`) && !path.split(sep).includes('..');
    return !isInside && !ways.has(path) && !/^\/proc\/self\/fd\/\d+$/.test(path);
  });
}

test(
  `${PATHS} paths: only files inside are read, and errors show nothing of the machine`,
  { timeout: 300_000 },
  async () => {
    const folder = createDirectiveFolder(join(base, 'place'));
    const seen = { read: 0, refused: 0, missing: 0 };
    const look = async (path: string): Promise<void> => {
      const outcome = await callTool(folder, 'directive/file.get', { path });
      if (outcome.ok) {
        const { content } = outcome.value as { content: string };
        seen.read += 1;
        expect(INSIDE.map((each) => `inside ${each}`)).toContain(content);
        return;
      }
      const { refusal } = outcome;
      if (refusal.code === 1001) seen.missing += 1;
      else seen.refused += 1;
      // Fixed words, or the client's own.
      expect(refusal.code === 1001 ? [notFound(path)] : FAULTS).toContainEqual(refusal);
    };
    const batch = fc.array(anyPath, { minLength: BATCH, maxLength: BATCH });
    const lookAll = async (paths: readonly string[]): Promise<void> =>
      void (await Promise.all(paths.map(look)));
    await fc.assert(fc.asyncProperty(batch, lookAll), { numRuns: PATHS / BATCH });
    expect(outsideAsked()).toEqual([]);
    expect(asked.size).toBeGreaterThan(100);
    expect(Math.min(seen.read, seen.refused, seen.missing)).toBeGreaterThan(PATHS / 20);
  },
);

test('files.list names only what file.get reads, or refuses as no text', async () => {
  const folder = createDirectiveFolder(join(base, 'place'));
  const listed = await folder.list();
  const files = listed.ok ? listed.value : [];
  expect(files).toEqual(expect.arrayContaining(INSIDE.map((path) => `directive/${path}`)));
  expect(files).toEqual(expect.arrayContaining(['directive/link-in', 'directive/link-absolute-in']));
  for (const path of files) {
    const read = await folder.read(path);
    const isNoText = ['directive/huge.md', 'directive/latin1.md'].includes(path);
    expect([path, read.ok]).toEqual([path, !isNoText]);
  }
  expect(
    files.filter((path) => /pipe|socket|out|evil|zero|circle|dangling|link-slash|parent|up$/.test(path)),
  ).toEqual([]);
  expect(outsideAsked()).toEqual([]);
});

test('the record of the file system is complete: a path outside would be in it', async () => {
  asked.clear();
  await (await import('node:fs/promises')).lstat(join(base, 'secret.md'));
  expect(outsideAsked().every(isAbsolute)).toBe(false);
  expect(outsideAsked()).toEqual([`lstat ${join(base, 'secret.md')}`]);
});
