/** The checks that need no running parts: format, lint, types, the package's declarations, unused code, generated schemas.
 *  They must not change any file. */
import { spawnSync } from 'node:child_process';

interface Check {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

/** `npm test` runs it with all tests; `check` runs only this one. */
export const BOUNDARIES: Check = {
  name: 'boundaries',
  command: ['vitest', 'run', 'test/boundaries.test.ts', '--reporter=dot'],
};

export const CHECKS: readonly Check[] = [
  { name: 'format', command: ['oxfmt', '--check', '.'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings', ...lintedPlaces()] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'declarations', command: ['tsc', '--noEmit', '-p', 'tsconfig.build.json'] },
  { name: 'unused', command: ['knip'] },
  { name: 'schemas', command: ['node', 'scripts/generate-schemas.ts', '--check'] },
  { name: 'configuration', command: ['node', 'scripts/generate-configuration.ts', '--check'] },
];

/** Runs each check to its end, prints the output of those that fail, and returns how many passed and failed. */
export function runChecks(checks: readonly Check[]): { passed: number; failed: number } {
  const passed = checks.filter(passes).length;
  return { passed, failed: checks.length - passed };
}

function passes({ name, command: [program, ...args] }: Check): boolean {
  const startedAt = performance.now();
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const passed = status === 0;
  console.log(`${passed ? '✓' : '✗'} ${name} (${seconds} s)`);
  if (!passed) console.log(error === undefined ? `${stdout}${stderr}` : error.message);
  return passed;
}

/** Given the bare folder, the linter would read node_modules. */
function lintedPlaces(): string[] {
  return ['src', 'test', 'scripts', 'bench', 'examples', 'vitest.config.ts'];
}
