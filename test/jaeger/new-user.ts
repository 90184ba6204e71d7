/** The commands of docs/observability.md as they are written, as a new user types them in a clone: the tree is in Jaeger.
 *  It must change nothing but the ports, which belong to whoever runs a Jaeger and a service here. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { blocksOf } from '../support/documents.ts';
import type { Jaeger } from '../support/jaeger.ts';
import { spawnProcess } from '../support/process.ts';
import { faultsOf } from '../support/span-rules.ts';
import { outline } from '../support/span-tree.ts';

const TREE = [
  'SERVER POST /v1/directives',
  '  PRODUCER send tool.everything',
  '    CONSUMER process tool.everything',
  '      CLIENT execute_tool everything.echo',
].join('\n');

const DOCUMENTED_ENDPOINT = 'http://localhost:4318';
const LONGEST_WAIT_MS = 10_000;
const LOOK_EVERY_MS = 100;

/** The tree that Jaeger has after the three commands; `TREE` when all is well. */
export async function newUserTree(jaeger: Jaeger): Promise<{ is: string; expected: string }> {
  const block = blocksOf('docs/observability.md').find(({ code }) => code.startsWith('jaeger\n'));
  const [first, start = '', call = '', ...others] = block?.code.split('\n') ?? [];
  if (first !== 'jaeger' || !start.includes(DOCUMENTED_ENDPOINT) || others.length > 0)
    return { is: `docs/observability.md says\n${block?.code}`, expected: TREE };
  const folder = await clone();
  const env = { ...process.env, ADJUTANT_PORT: '0', REDIS_URL: '', ADJUTANT_URL: '' };
  const service = spawnProcess(
    'sh',
    ['-c', `exec env ${start.replace(DOCUMENTED_ENDPOINT, jaeger.endpoint)}`],
    {
      cwd: folder,
      env,
    },
  );
  try {
    await service.waitForLine(/adjutant listens on/, 60_000);
    await typed(call, folder, env);
    return { is: await treeIn(jaeger), expected: TREE };
  } finally {
    await service.stop(20_000);
    await rm(folder, { recursive: true, force: true });
  }
}

async function clone(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-new-user-'));
  for (const file of ['adjutant.json', 'package.json', 'package-lock.json', 'scripts', 'examples'])
    await cp(file, join(folder, file), { recursive: true });
  for (const part of ['node_modules', 'src']) await symlink(resolve(part), join(folder, part));
  return folder;
}

async function typed(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command}: exit ${code}`);
}

async function treeIn(jaeger: Jaeger): Promise<string> {
  const until = performance.now() + LONGEST_WAIT_MS;
  for (;;) {
    const drawn = await drawnTree(jaeger);
    if (drawn === TREE || performance.now() > until) return drawn;
    await pause(LOOK_EVERY_MS);
  }
}

/** Of the one trace there is. */
async function drawnTree(jaeger: Jaeger): Promise<string> {
  try {
    const traces = await jaeger.traces('adjutant-api');
    const spans = await Promise.all(traces.map((id) => jaeger.spans(id)));
    return [...outline(spans.flat()), ...faultsOf(spans.flat())].join('\n');
  } catch (error) {
    return String(error);
  }
}
