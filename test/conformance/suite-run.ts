/** Runs one scenario of the official conformance suite with the client beside this file.
 *  It must never leave anything in the working directory. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface SuiteRun {
  readonly passed: boolean;
  /** `Passed: 3/3, 0 failed, 0 warnings`. */
  readonly summary: string;
  /** All that the suite has printed. */
  readonly output: string;
}

const SUITE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);
const CLIENT = fileURLToPath(new URL('./client.ts', import.meta.url));
const LIMIT_MS = 60_000;

export async function suiteRun(scenario: string): Promise<SuiteRun> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-conformance-'));
  const command = [process.execPath, CLIENT].map((part) => `'${part}'`).join(' ');
  const options = ['--scenario', scenario, '--timeout', String(LIMIT_MS), '--output-dir', folder];
  try {
    const { code, output } = await outputOf([SUITE, 'client', '--command', command, ...options]);
    const summary = /^Passed: .*$/m.exec(output)?.[0] ?? 'no result';
    return { passed: code === 0 && / 0 failed/.test(summary), summary, output };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function outputOf(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => pieces.push(piece));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output: Buffer.concat(pieces).toString('utf8') }));
  });
}
