/** Completion in a shell: the script that the program prints, read by a real bash.
 *  It must not look into the script: only what the shell offers counts. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { startCli } from '../support/cli.ts';
import { runCommand } from '../support/command.ts';

const run = promisify(execFile);

let script: string;

beforeAll(async () => {
  const { code, stdout } = await startCli(['completion', 'bash'], { cwd: resolve('.') }).ended;
  expect(code).toBe(0);
  script = stdout;
});

/** The completions of bash for the last of these words, where the program knows the names of two tools. */
async function offered(...words: string[]): Promise<string[]> {
  const commands = `adjutant() { echo "$1 $2" >&2; printf '%s\\n' peer.add peer.wait; }
${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _adjutant; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', commands, 'bash', 'adjutant', ...words], { cwd: resolve('.') });
  return stdout.split('\n').filter((line) => line !== '');
}

test.each<[string[], string[]]>([
  [['ca'], ['call', 'cancel']],
  [['dead', 're'], ['redrive']],
  [
    ['dead', 'redrive', '--l'],
    ['--lane', '--limit'],
  ],
  [
    ['call', 'a.b', '--backoff', ''],
    ['fixed', 'exponential'],
  ],
  [['call', 'a.b', '--backoff', 'fixed', '--max'], ['--max-retries']],
  [['--url', 'http://x', 'll'], ['llm']],
  [['tools', '--js'], ['--json']],
  [['up', '--config', 'adjutant.j'], ['adjutant.json']],
  [['submit', 'adjutant.j'], ['adjutant.json']],
  [['call', 'peer.a'], ['peer.add']],
  [['requests', '--tool', 'peer.w'], ['peer.wait']],
  [['call', 'peer.add', 'peer.a'], []],
  [['completion', 'no-verb-follows', 'x'], []],
])('%j offers %j', async (words, expected) => {
  expect(await offered(...words)).toEqual(expected);
});

test('an unknown shell is refused, and the others have a script', async () => {
  const script = async (shell: string) => runCommand(['completion', shell], '');
  expect((await script('tcsh')).code).toBe(2);
  expect((await script('zsh')).stdout).toContain('bashcompinit');
  const fish = (await script('fish')).stdout;
  expect(fish).toMatch(/-a call -d '/);
  expect(fish).toContain("seen_subcommand_from call' -a '(adjutant complete tools 2>/dev/null)'");
  expect(fish).toMatch(/seen_subcommand_from call.* -l backoff -x -a 'fixed exponential'/);
});
