// `npm run test:deploy [-- --keep-image]`: the files of deploy/ are asked of the programs that read them, and the composition runs for real.
// Must never fail because a program is missing: that is one line, and nothing counts as passed for it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkFiles } from './files.ts';
import { prepareImages } from './images.ts';
import { inNamespace, obstacle, podmanEnvironment } from './namespace.ts';
import { type Count, createReport, print, type Report } from './report.ts';

const folder = mkdtempSync(join(tmpdir(), 'adjutant-deploy-'));
const report = createReport();
try {
  await checkFiles(report, folder);
  await runComposition(report);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const { passed, failed } = report.count;
print(passed + failed === 0 ? 'skipped: none of its programs is here' : `${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runComposition(into: Report): Promise<void> {
  const why = obstacle();
  if (why !== null) return into.notRun('the composition', why);
  Object.assign(process.env, podmanEnvironment(folder), { REDIS_PASSWORD: randomBytes(16).toString('hex') });
  const before = into.count;
  const keeps = process.argv.includes('--keep-image');
  const what = keeps
    ? 'the images are there, ours as it was built last'
    : 'the image is built from the Dockerfile';
  await into.check(what, async () => print(`  ${await prepareImages(folder, keeps)}`));
  if (into.count.failed > before.failed) return;
  const file = join(folder, 'count.json');
  const [command, args] = inNamespace([process.execPath, join(import.meta.dirname, 'inside.ts'), file]);
  spawnSync(command, args, { stdio: 'inherit' });
  into.add(countIn(file));
}

function countIn(file: string): Count {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Count;
  } catch {
    return { passed: 0, failed: 1 };
  }
}
