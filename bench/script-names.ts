/** The names of the Lua scripts that a MONITOR shows as hashes.
 *  It must know the scripts by their text alone, so that a changed one is not taken for the old one. */
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { scriptSources } from '../src/store/scripts.ts';

/** SHA-1 of a script → `journal:accept`, `bullmq:moveToActive`. */
export function scriptNames(): ReadonlyMap<string, string> {
  const journal = [...scriptSources()].map(([name, text]) => [hashOf(text), `journal:${name}`] as const);
  return new Map([...bullmqScripts(), ...journal]);
}

/** BullMQ does not export its scripts; their files export objects with a name and the text. */
function bullmqScripts(): [string, string][] {
  const require = createRequire(import.meta.url);
  const files = globSync('node_modules/bullmq/dist/cjs/scripts/*.js');
  return files
    .flatMap((file) => Object.values(require(resolve(file)) as Record<string, unknown>))
    .filter(isScript)
    .map(({ name, content }) => [hashOf(content), `bullmq:${name}`]);
}

function isScript(value: unknown): value is { name: string; content: string } {
  return (
    typeof value === 'object' && value !== null && 'content' in value && typeof value.content === 'string'
  );
}

function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
