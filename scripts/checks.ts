/** The checks that need no running parts: format, lint, types, unused code, generated schemas.
 *  They must not change any file. */
import { execFile } from 'node:child_process';

interface Check {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

/** A test of `npm test` covers each of these: the boundaries' own, and the one that builds the package. `check` runs no other test. */
export const COVERED_BY_TESTS: readonly Check[] = [
  { name: 'boundaries', command: ['vitest', 'run', 'test/boundaries.test.ts', '--reporter=dot'] },
  { name: 'declarations', command: ['tsc', '--noEmit', '-p', 'tsconfig.build.json', '--singleThreaded'] },
];

export const CHECKS: readonly Check[] = [
  { name: 'format', command: ['oxfmt', '--check', '.'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings', ...lintedPlaces()] },
  // One thread: several check the same shared types again, and cost twice the work.
  { name: 'types', command: ['tsc', '--noEmit', '--singleThreaded'] },
  { name: 'types of the console', command: ['tsc', '--noEmit', '-p', 'src/console', '--singleThreaded'] },
  { name: 'unused', command: ['knip'] },
  { name: 'schemas', command: ['node', 'scripts/generate-schemas.ts', '--check'] },
  { name: 'configuration', command: ['node', 'scripts/generate-configuration.ts', '--check'] },
  { name: 'metrics', command: ['node', 'scripts/generate-metrics.ts', '--check'] },
];

/** As many as continuous integration has cores. */
const AT_ONCE = 2;
const MOST_OUTPUT_BYTES = 64 * 1_024 * 1_024;

/** Runs each check to its end, prints the output of those that fail, and returns how many passed and failed. */
export async function runChecks(checks: readonly Check[]): Promise<{ passed: number; failed: number }> {
  const waiting = [...checks];
  let passed = 0;
  const runNext = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift())
      if (await passes(check)) passed += 1;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runNext));
  return { passed, failed: checks.length - passed };
}

function passes({ name, command: [program, ...args] }: Check): Promise<boolean> {
  const startedAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  execFile(program, args, { maxBuffer: MOST_OUTPUT_BYTES }, (error, stdout, stderr) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${error === null ? '✓' : '✗'} ${name} (${seconds} s)`);
    if (error !== null) console.log(stdout === '' && stderr === '' ? error.message : `${stdout}${stderr}`);
    resolve(error === null);
  });
  return promise;
}

/** Given the bare folder, the linter would read node_modules. */
function lintedPlaces(): string[] {
  return ['src', 'test', 'scripts', 'bench', 'examples', 'vitest.config.ts'];
}
