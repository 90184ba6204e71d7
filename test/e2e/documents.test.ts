/** Runs every command and program of the pages as written, against the service that a reader has started.
 *  It must not fix a command: `npx adjutant` finds the service of its folder by itself, programs get its URL. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { privateRedisUrl } from '../../src/service/direct-client.ts';
import { consoleSteps, shellSteps, shows, type Step } from '../support/console-block.ts';
import { type Block, blocksOf, givenTo, PAGES } from '../support/documents.ts';
import { eventually, untilHolds } from '../support/eventually.ts';
import { PROGRAM as TESTED, WITH_PACKAGE } from '../support/program.ts';
import { type Child, spawnNode } from '../support/process.ts';

const DOCUMENTED_URL = 'http://127.0.0.1:7420';
const PROGRAM = ['--conditions=adjutant-source', TESTED];
/** Read-only commands: what they show may come a moment later. */
const LOOKS =
  /^npx adjutant (get|trace|tools|agents|lanes|doctor|dead(?! redrive))\b|^curl -s '?http[^' ]*'?$/;
/** No key, service or Redis of the environment. */
const NOTHING = Object.fromEntries(
  [
    ...Object.keys(process.env).filter((name) => name.endsWith('_API_KEY')),
    'REDIS_URL',
    'ADJUTANT_CONFIG',
    'ADJUTANT_PORT',
  ].map((name) => [name, undefined]),
);

let folder: string;
let up: Child;
let env: NodeJS.ProcessEnv;
let url: string;

beforeAll(async () => {
  folder = await clone();
  up = spawnNode([...PROGRAM, 'up', '--port', '0'], {
    cwd: folder,
    env: { ...NOTHING, ADJUTANT_LOG_LEVEL: 'warn' },
  });
  url = /http:\S+/.exec(await up.waitForLine(/^adjutant listens on/))?.[0] ?? '';
  const path = [join(folder, 'programs'), process.env['PATH']].join(delimiter);
  env = { ...process.env, ...NOTHING, ADJUTANT_URL: url, PATH: path };
  await untilHolds(async () => {
    const { servers } = (await (await fetch(`${url}/v1/tools`)).json()) as { servers: { status: string }[] };
    expect(servers.map(({ status }) => status)).toEqual(['ready', 'ready']);
  });
});
afterAll(async () => {
  await up?.stop();
  await rm(folder, { recursive: true, force: true });
});

/**
 * The content of a clone, with an `npx` that finds the command directly (asking npm takes a second each time), and the
 * command.
 */
async function clone(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'adjutant-documents-'));
  for (const file of ['adjutant.json', 'package.json', 'examples'])
    await cp(file, join(made, file), { recursive: true });
  for (const part of ['node_modules', 'src', 'deploy']) await symlink(resolve(part), join(made, part));
  await mkdir(join(made, 'programs'));
  await program(made, 'npx', 'shift; export npm_command=exec; unset ADJUTANT_URL');
  await program(made, 'adjutant', 'unset npm_command');
  return made;
}

async function program(place: string, name: string, first: string): Promise<void> {
  const path = join(place, 'programs', name);
  await writeFile(path, `#!/bin/sh\n${first}\nexec "${process.execPath}" ${PROGRAM.join(' ')} "$@"\n`);
  await chmod(path, 0o755);
}

interface Output {
  readonly code: number;
  readonly text: string;
}

async function run(command: string): Promise<Output> {
  const { promise, resolve: ended } = Promise.withResolvers<Output>();
  const here = command.replaceAll(DOCUMENTED_URL, url);
  execFile('bash', ['-c', `{ ${here}\n} 2>&1`], { cwd: folder, env, timeout: 100_000 }, (error, text) =>
    ended({ code: error === null ? 0 : Number(error.code ?? -1), text }),
  );
  return promise;
}

/** A page that shows a failure shows a command with an exit code of failure. */
function wanted({ output }: Step): string {
  return /^(failed|error) /m.test(output ?? '') ? 'an exit code of failure' : 'exit code 0';
}

async function outcome(step: Step): Promise<string> {
  const { code, text } = await run(step.command);
  const exit = code === 0 ? 'exit code 0' : 'an exit code of failure';
  const said = text.replaceAll(url, DOCUMENTED_URL);
  return step.output === null || shows(step.output, said) ? exit : `${exit}, and this output:\n${said}`;
}

async function holds(step: Step): Promise<void> {
  if (LOOKS.test(step.command)) await eventually(async () => outcome(step)).toBe(wanted(step));
  else expect(await outcome(step), step.command).toBe(wanted(step));
}

const RUNNABLE = new Set(['sh', 'console', 'ts']);

/** A piece of a program is type-checked with the package: test/e2e/package.test.ts. */
function isWhole({ language, code }: Block): boolean {
  return RUNNABLE.has(language) && (language !== 'ts' || givenTo(code).length === 0);
}

async function runBlock({ language, code }: Block): Promise<void> {
  if (language === 'ts') return runProgram(code);
  for (const step of language === 'sh' ? shellSteps(code) : consoleSteps(code)) await holds(step);
}

async function runProgram(code: string): Promise<void> {
  const here = code.replaceAll(DOCUMENTED_URL, url);
  const args = [...WITH_PACKAGE, '--input-type=module-typescript', '--eval', here];
  const redis = await privateRedisUrl(folder);
  const child = spawnNode(args, { cwd: folder, env: { REDIS_URL: redis ?? undefined } });
  expect(await child.exited, child.lines.join('\n')).toMatchObject({ code: 0 });
}

describe.each(PAGES.filter((page) => blocksOf(page).some(isWhole)))('%s', (page) => {
  for (const block of blocksOf(page).filter(isWhole)) {
    const { line, notRun } = block;
    if (notRun === null) test(`runs as written, line ${line}`, async () => runBlock(block));
    else test.skip(`is not run, line ${line}: ${notRun}`, () => {});
  }
});
