/** The scenes with a model: run the real command line, then check what the service recorded.
 *  It must trust nothing but the service's own record. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Terminal } from '../../src/cli/terminal.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { DirectiveSummary, RequestView } from '../../src/contract/request/request-view.ts';

export interface Scene {
  readonly title: string;
  /** Arguments of `adjutant`. */
  readonly args: readonly string[];
  /** What is wrong with the request of the scene, in sentences. */
  faultsOf(view: RequestView): string[];
}

export interface SceneOutcome {
  readonly title: string;
  readonly calls: number;
  readonly attempts: number;
  readonly elapsedMs: number;
  readonly endings: string;
  readonly faults: readonly string[];
}

const QUESTION = 'What is 17*23, and which files are in the examples folder?';

export const SCENES: readonly Scene[] = [
  {
    title: 'A model, word by word',
    args: ['llm', 'Say in two sentences what you are.', '--alias', 'demo', '--stream'],
    faultsOf: ({ directives }) =>
      directives.length === 1 ? [] : [`${directives.length} directives instead of 1`],
  },
  {
    title: 'An agent with the tools of two servers',
    args: ['ask', QUESTION, '--agent', 'demo', '--stream'],
    faultsOf: ({ run, directives }) => [
      ...(run?.status === 'completed' ? [] : [`the run is ${run?.status ?? 'not there'}`]),
      ...(JSON.stringify(run?.result).includes('391') ? [] : ['the answer does not hold 391']),
      ...(directives.some(({ lane }) => lane === 'tool.filesystem')
        ? []
        : ['no call looked into the folder']),
    ],
  },
];

export async function play(
  { title, args, faultsOf }: Scene,
  { client, terminal, url }: { client: DirectiveClient; terminal: Terminal; url: string },
): Promise<SceneOutcome> {
  const request = `demo-${args[0]}`;
  terminal.out(`\n${terminal.paint('bold', title)}\n${terminal.paint('dim', commandLine(args))}`);
  const startedAt = performance.now();
  const code = await adjutant([...args, '--request', request], url);
  const elapsedMs = performance.now() - startedAt;
  const view = await client.request(request);
  const directives = view?.directives ?? [];
  const faults = [
    ...(code === 0 ? [] : [`adjutant ended with ${code}`]),
    ...(view === null ? ['the request is not there'] : faultsOf(view)),
    ...directives
      .filter(({ status }) => status !== 'succeeded')
      .map(({ id, status }) => `${id} is ${status}`),
  ];
  const attempts = Math.max(0, ...directives.map((directive) => directive.attempts));
  return { title, calls: directives.length, attempts, elapsedMs, endings: endingsOf(directives), faults };
}

/** Its output goes where ours goes, as it arrives. */
async function adjutant(args: readonly string[], url: string): Promise<number | null> {
  const child = spawn(process.execPath, [resolve('src/cli/main.ts'), ...args], {
    env: { ...process.env, ADJUTANT_URL: url },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

function commandLine(args: readonly string[]): string {
  return ['$ adjutant', ...args.map((arg) => (/\s/.test(arg) ? JSON.stringify(arg) : arg))].join(' ');
}

function endingsOf(directives: readonly DirectiveSummary[]): string {
  const counts = Map.groupBy(directives, ({ type, status }) => `${type} ${status}`);
  return [...counts].map(([what, { length }]) => (length === 1 ? what : `${length} × ${what}`)).join(', ');
}
