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

/** A minute of a core: `npm test` runs them beside the tests, in what those leave of the processor. They read sources only. */
export const CHECKS: readonly Check[] = [
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings', ...lintedPlaces()] },
  // One thread: several check the same shared types again, and cost twice the work.
  { name: 'types', command: ['tsc', '--noEmit', '--singleThreaded'] },
  { name: 'types of the console', command: ['tsc', '--noEmit', '-p', 'console', '--singleThreaded'] },
  { name: 'format', command: ['oxfmt', '--check', '.'] },
  { name: 'unused', command: ['knip'] },
  { name: 'pins', command: ['node', 'scripts/check-pins.ts'] },
  { name: 'schemas', command: ['node', 'scripts/generate-schemas.ts', '--check'] },
  { name: 'configuration', command: ['node', 'scripts/generate-configuration.ts', '--check'] },
  { name: 'metrics', command: ['node', 'scripts/generate-metrics.ts', '--check'] },
  { name: 'reference', command: ['node', 'scripts/generate-reference.ts', '--check'] },
];

export interface CheckOptions {
  /** How many run at once. Default: as many as continuous integration has cores. */
  readonly atOnce?: number;
  /** They get what nothing else wants of the processor. Default: false. */
  readonly aside?: boolean;
  /** Default: to the console, as each ends. */
  readonly print?: (text: string) => void;
}

const AT_ONCE = 2;
const LEAST_URGENT = ['nice', '-n', '19'] as const;
const MOST_OUTPUT_BYTES = 64 * 1_024 * 1_024;
/** The compiler and the linter are Go programs, which collect garbage for a fifth of their time by default, and need no more memory without. */
const LESS_COLLECTED = { GOGC: '400' } as const;

/** Runs each check to its end, prints the output of those that fail, and returns how many passed and failed. */
export async function runChecks(
  checks: readonly Check[],
  options: CheckOptions = {},
): Promise<{ passed: number; failed: number }> {
  const { atOnce = AT_ONCE } = options;
  const waiting = [...checks];
  let passed = 0;
  const runNext = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift())
      if (await passes(check, options)) passed += 1;
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return { passed, failed: checks.length - passed };
}

function passes(
  { name, command }: Check,
  { aside = false, print = console.log }: CheckOptions,
): Promise<boolean> {
  const [program, ...args] = aside ? [...LEAST_URGENT, ...command] : command;
  const startedAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const env = { ...process.env, ...LESS_COLLECTED };
  execFile(program, args, { maxBuffer: MOST_OUTPUT_BYTES, env }, (error, stdout, stderr) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    print(`${error === null ? '✓' : '✗'} ${name} (${seconds} s)`);
    if (error !== null) print(stdout === '' && stderr === '' ? error.message : `${stdout}${stderr}`);
    resolve(error === null);
  });
  return promise;
}

/** Given the bare folder, the linter would read node_modules. */
function lintedPlaces(): string[] {
  return ['src', 'console', 'test', 'scripts', 'bench', 'examples', 'vitest.config.ts'];
}
