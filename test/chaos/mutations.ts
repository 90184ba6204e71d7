/** Whether the checker would notice: runs it on copies of the sources in each of which one protection is taken out.
 *  It must never touch the work tree, nor count a run without a violation as a success.
 *  `node test/chaos/mutations.ts [name…]`; without names: all. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JUDGED_LAST, MUTATIONS, NOTICED_BY_TESTS } from './mutation-list.ts';
import { applyPatches, type Patch, patchesOf } from './patch.ts';
import { run } from './run.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MINUTES = 5;
/** Directives per second; fewer where what is judged last is wanted, so that nothing else is noticed first. */
const RATE = 20;
const RATE_OF_LAST = 5;
/** What concerns only runs is tested with runs only. */
const RUN_MUTATIONS: ReadonlySet<string> = new Set([
  'run-version',
  'inbox-consumption',
  'inbox-rest',
  'end-reaches-run',
  'announced-run',
  'seal-if-empty',
]);

/** A copy of the sources with the patches, and of `more`. Throws where a guard is not marked once. */
function mutated(patches: readonly Patch[], more: readonly string[] = []): string {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-mutation-'));
  for (const name of ['src', 'package.json', ...more])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  applyPatches(folder, patches);
  return folder;
}

async function isNoticed(name: string, patches: readonly Patch[]): Promise<boolean> {
  const source = mutated(patches);
  const startedAt = Date.now();
  const found: string[] = [];
  const { violations, unjudged } = await run({
    minutes: JUDGED_LAST.has(name) ? 0.5 : MINUTES,
    seed: name,
    rate: JUDGED_LAST.has(name) ? RATE_OF_LAST : RATE,
    runs: RUN_MUTATIONS.has(name) ? 100 : JUDGED_LAST.has(name) ? 0 : 20,
    source,
    calm: false,
    rolling: false,
    former: null,
    cuts: false,
    untilViolation: true,
    say: (line) => void found.push(line),
  });
  rmSync(source, { recursive: true, force: true });
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  const first = found.findIndex((line) => line.startsWith('VIOLATION'));
  const said =
    violations > 0
      ? `noticed after ${seconds} s:${found[first + 1]}`
      : `NOT noticed in ${seconds} s${unjudged === null ? '' : `; could not judge: ${unjudged}`}`;
  const log = join(tmpdir(), `adjutant-mutation-${name}.log`);
  writeFileSync(log, found.join('\n'));
  process.stdout.write(`without ${name}: ${said} (all of it: ${log})\n`);
  return violations > 0;
}

function passes(test: string, patches: readonly Patch[]): boolean {
  const source = mutated(patches, ['test', 'vitest.config.ts', 'tsconfig.json']);
  const { status } = spawnSync('npx', ['vitest', 'run', '--bail', '1', test], { cwd: source });
  rmSync(source, { recursive: true, force: true });
  return status === 0;
}

/** Whether each test passes in a copy with all protections. */
const passesWhole = new Map<string, boolean>();

/** A test that fails anyway notices nothing. */
function isNoticedByTest(name: string, patches: readonly Patch[], test: string): boolean {
  const whole = passesWhole.get(test) ?? passes(test, []);
  passesWhole.set(test, whole);
  const isNoticed = whole && !passes(test, patches);
  const said = whole ? (isNoticed ? 'noticed' : 'NOT noticed') : 'unknown, nothing is taken out and it fails';
  process.stdout.write(`without ${name}: ${said} by ${test}\n`);
  return isNoticed;
}

const wanted = process.argv.slice(2);
const results: boolean[] = [];
for (const [name, patches] of patchesOf(MUTATIONS)) {
  if (wanted.length === 0 || wanted.includes(name)) results.push(await isNoticed(name, patches));
}
for (const [test, mutations] of Object.entries(NOTICED_BY_TESTS))
  for (const [name, patches] of patchesOf(mutations)) {
    if (wanted.length === 0 || wanted.includes(name)) results.push(isNoticedByTest(name, patches, test));
  }
process.exitCode = results.length > 0 && results.every(Boolean) ? 0 : 1;
