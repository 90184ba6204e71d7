// Writes the JSON Schemas of every wire type and of adjutant.json to schemas/; with --check reports differences.
// Must never leave a file there that has no schema in the code.
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { schemaFiles } from '../src/contract/wire-schema.ts';
import { configurationSchemaFile } from './configuration-schema.ts';

const directory = new URL('../schemas/', import.meta.url);
const wanted = new Map([...schemaFiles(), configurationSchemaFile()]);
const present = await presentFiles();
const stale = [...present.keys()].filter((name) => !wanted.has(name));
const changed = [...wanted.keys()].filter((name) => wanted.get(name) !== present.get(name));

if (process.argv.includes('--check')) report();
else await write();

async function presentFiles(): Promise<Map<string, string>> {
  await mkdir(directory, { recursive: true });
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
  const texts = names.map(async (name) => [name, await readFile(new URL(name, directory), 'utf8')] as const);
  return new Map(await Promise.all(texts));
}

function report(): void {
  const differing = [...changed, ...stale];
  if (differing.length === 0) return;
  console.error(`schemas/ is out of date: ${differing.join(', ')}. Run: node scripts/generate-schemas.ts`);
  process.exitCode = 1;
}

async function write(): Promise<void> {
  await Promise.all(stale.map((name) => rm(new URL(name, directory))));
  await Promise.all(changed.map((name) => writeFile(new URL(name, directory), wanted.get(name) ?? '')));
  console.log(`schemas/: ${wanted.size} files, ${changed.length} written, ${stale.length} removed`);
}
