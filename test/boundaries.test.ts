/** The import table of the architecture, executable: which folder may import which, and who alone may import a library.
 *  It must not carry an exception for a single file. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Folder of src, or the console → folders it may import, each of them earlier in this table. This table is the architecture. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  'platform/telemetry': ['contract'],
  'platform/redis': ['contract', 'platform/telemetry'],
  'platform/encryption': ['contract'],
  'platform/bounds': [],
  'platform/expression': ['contract'],
  config: ['contract', 'platform/redis', 'platform/encryption', 'platform/bounds', 'platform/expression'],
  'platform/json-schema': [],
  store: ['contract', 'platform/telemetry', 'platform/redis'],
  'store/catalog': ['contract', 'platform/redis', 'platform/bounds', 'store'],
  'store/search': ['contract', 'platform/redis', 'platform/bounds', 'store'],
  queue: ['contract', 'platform/telemetry', 'platform/redis', 'store', 'store/catalog'],
  directives: ['contract', 'platform/telemetry', 'platform/redis', 'store', 'store/catalog', 'queue'],
  mcp: ['contract', 'platform/telemetry', 'platform/bounds', 'platform/json-schema'],
  models: ['contract', 'platform/bounds'],
  'features/webhooks': ['platform/bounds'],
  'features/reconcile': ['contract', 'platform/expression', 'store', 'store/catalog', 'directives'],
  'worker/executors': [
    'contract',
    'platform/telemetry',
    'platform/bounds',
    'platform/json-schema',
    'mcp',
    'models',
    'features/webhooks',
    'features/reconcile',
  ],
  worker: [
    'contract',
    'platform/telemetry',
    'platform/redis',
    'platform/encryption',
    'store',
    'store/catalog',
    'queue',
    'directives',
    'worker/executors',
  ],
  agents: [
    'contract',
    'platform/telemetry',
    'platform/redis',
    'platform/encryption',
    'store',
    'store/catalog',
    'queue',
    'directives',
    'worker/executors',
  ],
  'agents/modules': ['contract', 'config', 'worker/executors', 'agents'],
  'features/schedules': ['contract', 'platform/telemetry', 'platform/redis', 'store'],
  'features/archive': ['contract', 'platform/bounds', 'store', 'queue', 'directives'],
  'features/stats': ['contract', 'platform/telemetry', 'platform/redis', 'platform/bounds', 'store'],
  'features/server-output': ['contract', 'platform/redis', 'store'],
  'features/cases': ['contract'],
  'features/policy': [
    'contract',
    'platform/redis',
    'platform/expression',
    'store',
    'store/catalog',
    'worker',
  ],
  'features/runtime-definitions': [
    'contract',
    'platform/redis',
    'config',
    'store',
    'store/catalog',
    'features/policy',
  ],
  'features/runtime-servers': [
    'contract',
    'platform/telemetry',
    'platform/bounds',
    'config',
    'store/catalog',
    'mcp',
    'features/runtime-definitions',
  ],
  'http/access': ['contract', 'platform/redis', 'store'],
  'features/queue-api': [
    'contract',
    'platform/telemetry',
    'platform/redis',
    'platform/bounds',
    'http/access',
  ],
  http: ['contract', 'platform/telemetry', 'platform/redis', 'platform/bounds', 'http/access'],
  'http/mcp': ['contract', 'platform/bounds'],
  'features/model-endpoint': [
    'contract',
    'platform/telemetry',
    'platform/bounds',
    'models',
    'worker/executors',
    'http/access',
    'http',
    'http/mcp',
  ],
  'features/foreign-runs': [
    'contract',
    'platform/telemetry',
    'platform/redis',
    'store',
    'http/access',
    'http',
    'features/model-endpoint',
  ],
  'features/remote-types': [
    'contract',
    'platform/telemetry',
    'platform/redis',
    'store',
    'worker/executors',
    'http/access',
    'http',
  ],
  'features/host-login': ['contract', 'platform/redis', 'platform/bounds', 'http/access', 'http'],
  'features/operating': ['contract', 'http/access', 'http/mcp'],
  'features/personal-logins': [
    'contract',
    'platform/redis',
    'store',
    'store/catalog',
    'mcp',
    'worker',
    'http/access',
    'http',
    'features/host-login',
  ],
  client: ['contract', 'platform/encryption'],
  service: [
    'contract',
    'platform/telemetry',
    'platform/redis',
    'platform/encryption',
    'platform/bounds',
    'config',
    'platform/json-schema',
    'store',
    'store/catalog',
    'store/search',
    'queue',
    'directives',
    'mcp',
    'models',
    'worker/executors',
    'worker',
    'agents',
    'agents/modules',
    'features/schedules',
    'features/archive',
    'features/stats',
    'features/server-output',
    'features/policy',
    'features/runtime-definitions',
    'features/runtime-servers',
    'features/reconcile',
    'http/access',
    'features/queue-api',
    'http',
    'http/mcp',
    'features/model-endpoint',
    'features/foreign-runs',
    'features/remote-types',
    'features/host-login',
    'features/operating',
    'features/personal-logins',
  ],
  'cli/doctor': [
    'contract',
    'platform/telemetry',
    'platform/redis',
    'platform/bounds',
    'config',
    'mcp',
    'agents',
    'agents/modules',
    'service',
  ],
  cli: [
    'contract',
    'platform/redis',
    'platform/encryption',
    'platform/bounds',
    'features/webhooks',
    'features/cases',
    'client',
    'cli/doctor',
  ],
  testing: [
    'contract',
    'platform/redis',
    'config',
    'models',
    'agents/modules',
    'features/cases',
    'client',
    'service',
  ],
  'servers/directive': ['contract', 'platform/telemetry', 'platform/bounds'],
  'servers/control': ['contract', 'platform/bounds'],
  console: ['contract'],
};

/** Folder of the store → folders of the store that it may import, each of them earlier in this table. Each may import its loose files. */
const IN_STORE: Readonly<Record<string, readonly string[]>> = {
  log: [],
  access: [],
  index: [],
  limits: [],
  catalog: ['log'],
  request: ['log', 'index', 'limits'],
  run: ['log', 'request'],
  search: ['index', 'limits', 'request'],
};

/** The only files outside a folder. Any folder may import lifecycle and heap; the version is for the service. */
const LOOSE_FILES = ['main.ts', 'platform/heap.ts', 'platform/lifecycle.ts', 'version.ts'];
const SHARED_FILES = ['platform/heap.ts', 'platform/lifecycle.ts', 'version.ts'];

/** What the role commands load at their start, so that the client verbs never load it. */
const LAZY_FROM_CLI = [
  'config',
  'agents/modules',
  'features/policy',
  'service',
  'servers/directive',
  'http/mcp',
  'servers/control',
  'testing',
];

/** Library (or prefix of it) → the places of src that may import it. */
const SOLE_IMPORTERS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^bullmq($|\/)/, ['queue/', 'features/queue-api/']],
  [/^ioredis($|\/)/, ['platform/redis/', 'queue/']],
  [/^@modelcontextprotocol\/(?!server)/, ['mcp/']],
  [/^@modelcontextprotocol\/server/, ['servers/', 'http/mcp/', 'features/operating/', 'testing/']],
  [/^@ai-sdk\/(?!provider$)/, ['models/']],
  [/^@ai-sdk\/provider$/, ['models/', 'worker/executors/llm-']],
  [/^(fastify|@fastify\/|fastify-)/, ['http/']],
  [/^jose($|\/)/, ['http/access/']],
  [/^openid-client($|\/)/, ['http/access/']],
  [/^oidc-provider$/, ['features/host-login/']],
  [/^aws4fetch$/, ['features/archive/', 'models/']],
  [/^@marcbachmann\/cel-js$/, ['platform/expression/']],
  [/^croner$/, ['features/schedules/']],
  [/^standardwebhooks$/, ['features/webhooks/']],
  [/^ipaddr\.js$/, ['platform/bounds/']],
  [/^(commander|undici)($|\/)/, ['cli/']],
  [/^(react|react-dom|@tanstack\/|@base-ui\/)/, ['console/']],
  [/^ajv/, ['platform/json-schema/']],
  [/^@opentelemetry\//, ['platform/telemetry/']],
  [/^pino($|\/)/, ['platform/telemetry/', 'service/']],
];

/** Each client of model providers takes memory, and a process uses few of them; few services log hosts in. */
const LAZY_LIBRARIES = /^(?:@ai-sdk\/(?!provider$)|oidc-provider$)/;

const ENVIRONMENT_READERS = ['main.ts', 'config/config.ts', 'cli/', 'testing/'];

interface Import {
  readonly specifier: string;
  readonly lazy: boolean;
  readonly typeOnly: boolean;
}

function importsOf(source: string): Import[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const found: Import[] = [];
  for (const [statement, specifier = ''] of code.matchAll(
    /(?:\bimport type\b[^;'"]*\bfrom|\bfrom|\bimport)\s*['"]([^'"]+)['"]/g,
  )) {
    found.push({ specifier, lazy: false, typeOnly: statement.startsWith('import type') });
  }
  for (const [, specifier = ''] of code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)) {
    found.push({ specifier, lazy: true, typeOnly: false });
  }
  return found;
}

/** A path as the tables name it: within src without that folder, the console with its own. */
function placeOf(path: string): string {
  return path.replace(/^src\//, '');
}

/** Longest first: a folder inside another one has a row of its own. */
const FOLDERS = Object.keys(ALLOWED).toSorted((a, b) => b.length - a.length);

/** The folder (or the file outside all of them) that a relative import of `file` reaches. */
function targetOf(file: string, specifier: string): string {
  const path = join(dirname(file), specifier);
  return folderOf(path) ?? placeOf(path);
}

/** null: the file is outside the folders. */
function folderOf(file: string): string | null {
  const place = placeOf(file);
  return FOLDERS.find((folder) => place.startsWith(`${folder}/`)) ?? null;
}

function arrowsOf(file: string): string[] {
  const specifiers = importsOf(readFileSync(file, 'utf8')).map(({ specifier }) => specifier);
  const relatives = specifiers.filter((specifier) => specifier.startsWith('.'));
  return relatives.map((specifier) => `${folderOf(file)} → ${targetOf(file, specifier)}`);
}

function mayImport(folder: string, target: string, lazy: boolean): boolean {
  if (target === folder || SHARED_FILES.includes(target)) return true;
  if (folder === 'cli' && lazy && LAZY_FROM_CLI.includes(target)) return true;
  return ALLOWED[folder]?.includes(target) ?? false;
}

/** Every import of `file` that the tables forbid, as sentences. */
function violations(file: string, source: string): string[] {
  const place = placeOf(file);
  const folder = folderOf(file);
  return importsOf(source).flatMap(({ specifier, lazy, typeOnly }) => {
    if (specifier.startsWith('.')) {
      const target = targetOf(file, specifier);
      return folder === null || mayImport(folder, target, lazy) ? [] : [`${folder} may not import ${target}`];
    }
    const rule = SOLE_IMPORTERS.find(([library]) => library.test(specifier));
    const allowed = rule === undefined || rule[1].some((importer) => place.startsWith(importer));
    if (!allowed) return [`${place} may not import ${specifier}`];
    if (LAZY_LIBRARIES.test(specifier) && !lazy && !typeOnly)
      return [`${place} may import ${specifier} only when it is needed`];
    return folder === 'contract' && specifier !== 'zod' ? [`contract may not import ${specifier}`] : [];
  });
}

/** The console's build is no page of it. */
const files = globSync([
  'src/**/*.ts',
  'console/*.tsx',
  'console/{data,frame,keys,pages,parts}/**/*.{ts,tsx}',
]).toSorted();

describe('the import table', () => {
  test.each(files)('%s stays inside its boundary', (file) => {
    expect(violations(file, readFileSync(file, 'utf8'))).toEqual([]);
  });

  test.each(files)('%s reads the environment only where configuration is read', (file) => {
    const reads = /\bprocess\.env\b|\benv\b[^;]*from 'node:process'/.test(readFileSync(file, 'utf8'));
    const reader = ENVIRONMENT_READERS.some((place) => placeOf(file).startsWith(place));
    expect(reads && !reader).toBe(false);
  });

  test('every folder has a row, and every row a folder', () => {
    const folders = new Set(files.map(folderOf).filter((folder) => folder !== null));
    expect([...folders].toSorted()).toEqual(Object.keys(ALLOWED).toSorted());
  });

  test('only the program, its lifecycle, its heap and its version are outside a folder', () => {
    const loose = files.filter((file) => folderOf(file) === null).map(placeOf);
    expect(loose.toSorted()).toEqual(LOOSE_FILES);
  });

  test('a row allows only what is used', () => {
    const used = new Set(files.flatMap(arrowsOf));
    const allowed = Object.entries(ALLOWED).flatMap(([from, row]) => row.map((to) => `${from} → ${to}`));
    expect(allowed.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  test('a folder imports only from folders earlier in the table: there is no circle', () => {
    const order = Object.keys(ALLOWED);
    const upward = Object.entries(ALLOWED).flatMap(([from, row]) =>
      row.filter((to) => order.indexOf(to) >= order.indexOf(from)).map((to) => `${from} → ${to}`),
    );
    expect(upward).toEqual([]);
  });
});

describe('the folders of the store', () => {
  const storeFolder = (path: string): string | null => /^src\/store\/([^/]+)\//.exec(path)?.[1] ?? null;

  test('import only each other, without a circle', () => {
    const found = new Set<string>();
    for (const file of files.filter((path) => path.startsWith('src/store/')))
      for (const { specifier } of importsOf(readFileSync(file, 'utf8'))) {
        const target = storeFolder(join(dirname(file), specifier));
        const from = storeFolder(file) ?? 'a loose file';
        if (specifier.startsWith('.') && target !== null && target !== from) found.add(`${from} → ${target}`);
      }
    const allowed = Object.entries(IN_STORE).flatMap(([from, row]) => row.map((to) => `${from} → ${to}`));
    expect([...found].toSorted()).toEqual(allowed.toSorted());
    const order = Object.keys(IN_STORE);
    for (const [from, row] of Object.entries(IN_STORE))
      for (const to of row) expect(order.indexOf(to)).toBeLessThan(order.indexOf(from));
  });
});

describe('Redis Streams', () => {
  const places = [...files, ...globSync('src/**/*.lua')].filter((file) =>
    /\b(xadd|xrange|xrevrange|xread|xlen|xdel|xtrim)\b/i.test(readFileSync(file, 'utf8')),
  );

  test('are those of all signals and of the audit, and no others', () => {
    const inSrc = places.map(placeOf).toSorted();
    expect(inSrc).toEqual([
      'store/access/audit-log.ts',
      'store/access/include-audit.lua',
      'store/log/include-stream.lua',
    ]);
  });
});

describe('the table itself', () => {
  test.each([
    ['src/contract/a.ts', "import { b } from '../store/b.ts';", 'contract may not import store'],
    ['src/contract/a.ts', "import { v7 } from 'uuid';", 'contract may not import uuid'],
    ['src/worker/deep/a.ts', "import { b } from '../../http/b.ts';", 'worker may not import http'],
    ['src/worker/a.ts', "import { Queue } from 'bullmq';", 'worker/a.ts may not import bullmq'],
    ['src/cli/a.ts', "import { b } from '../service/service.ts';", 'cli may not import service'],
    ['src/http/a.ts', "const { b } = await import('../mcp/b.ts');", 'http may not import mcp'],
    ['console/pages/a.tsx', "import { b } from '../../src/client/b.ts';", 'console may not import client'],
    [
      'src/models/a.ts',
      "import { createOpenAI } from '@ai-sdk/openai';",
      'models/a.ts may import @ai-sdk/openai only when it is needed',
    ],
  ])('%s: %s is refused', (file, source, sentence) => {
    expect(violations(file, source)).toEqual([sentence]);
  });

  test.each([
    ['src/cli/commands/a.ts', "const { b } = await import('../../service/service.ts');"],
    ['src/queue/a.ts', "import { Queue } from 'bullmq';"],
    ['src/models/a.ts', "import type { OpenAIProvider } from '@ai-sdk/openai';"],
    ['src/mcp/a.ts', "import { start } from '../platform/lifecycle.ts';"],
    ['src/service/service.ts', "import { b } from './worker/b.ts';"],
    ['console/pages/a.tsx', "import { b } from '../../src/contract/b.ts';"],
    ['src/contract/a.ts', "// from '../store/b.ts'\nimport * as z from 'zod';"],
  ])('%s: %s is allowed', (file, source) => {
    expect(violations(file, source)).toEqual([]);
  });
});
