/** The program of the control server, as a worker starts it: what it knows comes as one argument, JSON.
 *  It must never read the environment or a file of the project. */
import { enableCompileCache } from 'node:module';
import type { Known } from './tool-arguments.ts';

// Halves the start-up time; only later imports are cached.
enableCompileCache();
const [{ serveControlStdio }, { version }] = await Promise.all([
  import('./stdio.ts'),
  import('../../version.ts'),
]);
const known = JSON.parse(process.argv[2] ?? '{}') as Partial<Known>;
const { tiers = [], agents = [] } = known;
const streams = { input: process.stdin, output: process.stdout };
await serveControlStdio({ version, tiers, agents }, streams, new AbortController().signal);
