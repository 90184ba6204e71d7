// The Jaeger program of this machine: `JAEGER_BIN`, else the one on the PATH, else the packed one beside the repository.
// Must never download one.
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { programPath } from './commands.ts';

const PACKED = join('..', 'shared', 'tools', 'jaeger', 'jaeger.gz');

/** `folder`: where a packed program is unpacked to. null: there is none. */
export async function jaegerProgram(folder: string): Promise<string | null> {
  const named = process.env['JAEGER_BIN'] ?? programPath('jaeger');
  if (named !== null && named !== '') return named;
  if (!existsSync(PACKED)) return null;
  const path = join(folder, 'jaeger');
  await pipeline(createReadStream(PACKED), createGunzip(), createWriteStream(path));
  await chmod(path, 0o755);
  return path;
}
