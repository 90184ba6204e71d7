/** `npm run build`: dist/ from src/, and the list of what it depends on, for the package and the container image.
 *  It must leave nothing of an earlier build behind. */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { buildClient } from '../client/build.ts';
import { buildConsole } from '../console/build.ts';
import { buildDocs } from './docs.ts';

const MOST_OUTPUT_BYTES = 64 * 1_024 * 1_024;

rmSync('dist', { recursive: true, force: true });
const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json', '--singleThreaded'], { stdio: 'inherit' });
for (const script of globSync('src/**/*.{lua,md}')) cpSync(script, join('dist', relative('src', script)));
await buildConsole();
buildDocs();
if (status === 0) await buildClient();
const listed = writeBillOfMaterials();
process.exitCode = status === 0 && listed ? 0 : 1;

/** Writes dist/sbom.cdx.json: the packages that an installation gets, from package-lock.json, as CycloneDX. */
function writeBillOfMaterials(): boolean {
  const flags = [
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
    '--omit=dev',
    '--package-lock-only',
    '--workspaces=false',
  ];
  const {
    status: ended,
    stdout,
    stderr,
  } = spawnSync('npm', ['sbom', ...flags], {
    encoding: 'utf8',
    maxBuffer: MOST_OUTPUT_BYTES,
  });
  if (ended !== 0) {
    console.error(`The bill of materials was not written: npm sbom ended with ${ended}. ${stderr}`);
    return false;
  }
  const bill = JSON.parse(stdout) as { metadata: { component: { name: string } } };
  // npm takes the name of the folder.
  bill.metadata.component.name = 'adjutant';
  writeFileSync('dist/sbom.cdx.json', `${JSON.stringify(bill, null, 2)}\n`);
  return true;
}
