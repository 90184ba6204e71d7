/** The import table of the architecture, executable: which folder may import which, and who alone may import a library.
 *  It must not carry exceptions for single files beyond the ones the table names. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Folder of src → folders (and connection file) it may import. This table is the architecture. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  telemetry: ['contract'],
  journal: ['contract', 'telemetry', 'redis.ts'],
  bounds: [],
  'json-schema': [],
  mcp: ['bounds', 'contract', 'telemetry', 'json-schema'],
  llm: ['bounds', 'contract', 'telemetry', 'json-schema'],
  queue: ['contract', 'journal', 'telemetry', 'redis.ts'],
  executors: ['contract', 'mcp', 'llm', 'telemetry', 'json-schema'],
  worker: ['contract', 'journal', 'queue', 'executors', 'telemetry', 'redis.ts'],
  engine: ['contract', 'journal', 'queue', 'executors', 'telemetry'],
  api: ['contract', 'journal', 'queue', 'engine', 'telemetry'],
  client: ['contract'],
  cli: ['client', 'contract'],
};

/** Top-level files that any folder may import. */
const SHARED_FILES = ['lifecycle.ts'];

/** The role commands load the service lazily, so that the client verbs never pay for it. */
const LAZY_FROM_CLI = [
  'service.ts',
  'config.ts',
  'modules.ts',
  'default-agent.ts',
  'diagnosis.ts',
  'start-check.ts',
];

/** Library (or prefix of it) → the places of src that may import it. */
const SOLE_IMPORTERS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^bullmq($|\/)/, ['queue/']],
  [/^ioredis($|\/)/, ['journal/', 'queue/', 'redis.ts', 'redis-error.ts']],
  [/^@modelcontextprotocol\//, ['mcp/']],
  [/^@ai-sdk\/(?!provider$)/, ['llm/']],
  [/^@ai-sdk\/provider$/, ['llm/', 'executors/llm-']],
  [/^(fastify|@fastify\/|fastify-)/, ['api/']],
  [/^commander($|\/)/, ['cli/']],
  [/^ajv/, ['json-schema/']],
];

const ENVIRONMENT_READERS = ['main.ts', 'config.ts', 'cli/'];

interface Import {
  readonly specifier: string;
  readonly lazy: boolean;
}

function importsOf(source: string): Import[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const found: Import[] = [];
  for (const [, specifier = ''] of code.matchAll(/(?:\bfrom|\bimport)\s*['"]([^'"]+)['"]/g)) {
    found.push({ specifier, lazy: false });
  }
  for (const [, specifier = ''] of code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)) {
    found.push({ specifier, lazy: true });
  }
  return found;
}

/** The folder of src (or the top-level file) that a relative import of `file` reaches. */
function targetOf(file: string, specifier: string): string {
  return relative('src', join(dirname(file), specifier)).split('/')[0] ?? '';
}

function mayImport(folder: string, target: string, lazy: boolean): boolean {
  if (target === folder || SHARED_FILES.includes(target)) return true;
  if (folder === 'cli' && lazy && LAZY_FROM_CLI.includes(target)) return true;
  return ALLOWED[folder]?.includes(target) ?? false;
}

/** Every import of `file` that the tables forbid, as sentences. */
function violations(file: string, source: string): string[] {
  const inSrc = relative('src', file);
  const folder = inSrc.includes('/') ? (inSrc.split('/')[0] ?? '') : null;
  return importsOf(source).flatMap(({ specifier, lazy }) => {
    if (specifier.startsWith('.')) {
      const target = targetOf(file, specifier);
      return folder === null || mayImport(folder, target, lazy) ? [] : [`${folder} may not import ${target}`];
    }
    const rule = SOLE_IMPORTERS.find(([library]) => library.test(specifier));
    const allowed = rule === undefined || rule[1].some((place) => inSrc.startsWith(place));
    if (!allowed) return [`${inSrc} may not import ${specifier}`];
    return folder === 'contract' && specifier !== 'zod' ? [`contract may not import ${specifier}`] : [];
  });
}

const files = globSync('src/**/*.ts').toSorted();

describe('the import table', () => {
  test.each(files)('%s stays inside its boundary', (file) => {
    expect(violations(file, readFileSync(file, 'utf8'))).toEqual([]);
  });

  test.each(files)('%s reads the environment only where configuration is read', (file) => {
    const reads = /\bprocess\.env\b|\benv\b[^;]*from 'node:process'/.test(readFileSync(file, 'utf8'));
    const reader = ENVIRONMENT_READERS.some((place) => relative('src', file).startsWith(place));
    expect(reads && !reader).toBe(false);
  });

  test('every folder of src has a row', () => {
    const folders = new Set(files.map((file) => relative('src', file).split('/')));
    const named = [...folders].filter((parts) => parts.length > 1).map((parts) => parts[0] ?? '');
    expect(named.filter((folder) => !(folder in ALLOWED))).toEqual([]);
  });
});

describe('the table itself', () => {
  test.each([
    ['src/contract/a.ts', "import { b } from '../journal/b.ts';", 'contract may not import journal'],
    ['src/contract/a.ts', "import { v7 } from 'uuid';", 'contract may not import uuid'],
    ['src/worker/deep/a.ts', "import { b } from '../../api/b.ts';", 'worker may not import api'],
    ['src/worker/a.ts', "import { Queue } from 'bullmq';", 'worker/a.ts may not import bullmq'],
    ['src/cli/a.ts', "import { b } from '../service.ts';", 'cli may not import service.ts'],
    ['src/api/a.ts', "const { b } = await import('../mcp/b.ts');", 'api may not import mcp'],
  ])('%s: %s is refused', (file, source, sentence) => {
    expect(violations(file, source)).toEqual([sentence]);
  });

  test.each([
    ['src/cli/commands/a.ts', "const { b } = await import('../../service.ts');"],
    ['src/queue/a.ts', "import { Queue } from 'bullmq';"],
    ['src/mcp/a.ts', "import { start } from '../lifecycle.ts';"],
    ['src/service/service.ts', "import { b } from './worker/b.ts';"],
    ['src/contract/a.ts', "// from '../journal/b.ts'\nimport * as z from 'zod';"],
  ])('%s: %s is allowed', (file, source) => {
    expect(violations(file, source)).toEqual([]);
  });
});
