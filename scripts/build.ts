/** `npm run build`: dist/ from src/, for the package and the container image.
 *  It must leave nothing of an earlier build behind. */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { buildConsole } from './console-build.ts';

rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json', '--singleThreaded'], { stdio: 'inherit' });
for (const script of globSync('src/**/*.{lua,md}')) cpSync(script, join('dist', relative('src', script)));
await buildConsole();
process.exitCode = status ?? 1;
