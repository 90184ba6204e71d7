/** Another commit of this repository beside it, for what compares or mixes both.
 *  It must use the packages that are installed here: nothing is fetched. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface Checkout {
  readonly folder: string;
  readonly sha: string;
}

/** Until this process ends. Throws where the commit is unknown. */
export function checkOut(commit: string): Checkout {
  const sha = git('rev-parse', '--verify', `${commit}^{commit}`).trim();
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-commit-'));
  process.once('exit', () => {
    git('worktree', 'remove', '--force', folder);
    rmSync(folder, { recursive: true, force: true });
  });
  git('worktree', 'add', '--quiet', '--detach', folder, sha);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return { folder, sha };
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' });
}
