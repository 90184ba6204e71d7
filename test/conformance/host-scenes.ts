/** What a host of strangers does with `/mcp`, step by step, with an API that is killed in the middle.
 *  It must not look into the service: answers, the public API, and what the tools themselves have recorded. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { placeOf } from '../../src/http/mcp/calls/call-identity.ts';
import { type AdjutantProcess, install, type Installation } from '../support/installation.ts';
import { freePort } from '../support/process.ts';
import { type Host, startHost } from './host-process.ts';
import { type Step, stepOf } from './steps.ts';

interface Scene {
  readonly installation: Installation;
  /** Of the API; it stays when the API is started again. */
  readonly url: string;
  restartApi(): Promise<void>;
  /** Another connection: as when a host finds that its session is gone. */
  another(): Promise<Host>;
  readonly host: Host;
}

type Work = (scene: Scene) => Promise<void>;

/** A client of the stateless protocol cancels by leaving: its call is given up 30 s later. */
const LONGEST_MS = 60_000;
const AGAIN_MS = 50;

/** The model of both agents: it calls the tool once, then says so. */
const TURNS = [
  {
    when: { tool_results: false },
    tool_calls: [{ name: 'counting.idempotent', arguments: { label: 'asked' } }],
  },
  { text: 'The tool was called.' },
];

const STEPS: Readonly<Record<string, Work>> = {
  'lists the tools under portable names': async ({ host }) => {
    const names = await host.list();
    for (const name of ['counting__once', 'ask_helper', 'ask_careful'])
      if (!names.includes(name)) throw new Error(`${name} is not listed: ${names.join(' ')}`);
  },
  'calls a tool': async ({ host, installation }) => {
    const { text } = await host.call('counting__once', { label: 'plain' }).answer;
    same(text, '{"label":"plain","execution":1}');
    same(countOf(installation, 'plain'), 1);
  },
  'repeats a call with its key, and it has run once': async ({ host, installation }) => {
    const call = () => host.call('counting__once', { label: 'keyed' }, 'repeated').answer;
    const both = await Promise.all([call(), call()]);
    const { text } = await call();
    same(
      both.map((each) => each.text),
      [text, text],
    );
    same(countOf(installation, 'keyed'), 1);
  },
  'cancels a call, which ends it in the journal': async ({ host, installation, url }) => {
    const args = { label: 'unwanted', delay_ms: LONGEST_MS };
    const call = host.call('counting__once', args, 'cancelled');
    await installation.untilExecuted((all) => all.some(({ label }) => label === 'unwanted'));
    call.cancel();
    if (await call.answer.catch(() => null)) throw new Error('a cancelled call was answered');
    const { requestId, id } = placeOf({ tool: 'counting.once', key: 'cancelled', isAgent: false });
    const path = `/v1/requests/${requestId}/directives/${id}`;
    await until('the call is not cancelled', async () => (await read(url, path)).includes('"cancelled"'));
  },
  'asks an agent': async ({ host }) => {
    const { text, isError } = await host.call('ask_helper', { query: 'Call it.' }).answer;
    same([text, isError], ['The tool was called.', false]);
  },
  'asks an agent whose tool needs an approval, which a person gives elsewhere': async ({ host, url }) => {
    const call = host.call('ask_careful', { query: 'Call it.' }, 'approved');
    const { requestId } = placeOf({ tool: 'ask:careful', key: 'approved', isAgent: true });
    await until('nobody is asked', async () => approves(url, requestId));
    same((await call.answer).text, 'The tool was called.');
  },
  'loses its API between call and answer: the repeated call has the answer, and has run once': async (
    scene,
  ) => {
    const { host, installation } = scene;
    const args = { label: 'survivor', delay_ms: 3_000 };
    const lost = host.call('counting__once', args, 'survived');
    await installation.untilExecuted((all) => all.some(({ label }) => label === 'survivor'));
    await scene.restartApi();
    await lost.answer.catch(() => {});
    await using again = await scene.another();
    const { text } = await again.call('counting__once', args, 'survived').answer;
    same(text, '{"label":"survivor","execution":1}');
    same(countOf(installation, 'survivor'), 1);
  },
};

/** `program`: how the host is started. */
export async function hostSteps(program: readonly string[]): Promise<Step[]> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-hosts-'));
  try {
    await using installation = await install({
      config: await configuration(folder),
      server: { lane: { timeout_ms: 2 * LONGEST_MS } },
    });
    const scene = await openScene(installation, program);
    await using _ = scene.host;
    const steps: Step[] = [];
    for (const [name, work] of Object.entries(STEPS)) steps.push(await stepOf(name, async () => work(scene)));
    return steps;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function openScene(installation: Installation, program: readonly string[]): Promise<Scene> {
  const port = await freePort();
  let api: AdjutantProcess = await installation.start('api', port);
  await installation.start('worker');
  await installation.start('engine');
  const { url } = api;
  await until('no tool is listed', async () => (await read(url, '/v1/tools')).includes('counting.once'));
  const another = async (): Promise<Host> => startHost(program, `${url}/mcp`);
  const restartApi = async (): Promise<void> => {
    await api.kill9();
    api = await installation.start('api', port);
  };
  return { installation, url, restartApi, another, host: await another() };
}

async function configuration(folder: string): Promise<Readonly<Record<string, unknown>>> {
  const file = join(folder, 'script.json');
  await writeFile(file, JSON.stringify({ pace: 10_000, turns: TURNS }));
  const agent = { model_alias: 'fast', tools: ['counting.idempotent'] };
  const policies = { approvals: { 'counting.idempotent': 'ask' } };
  return {
    providers: { play: { type: 'scripted', file } },
    models: { fast: ['play:m'] },
    agents: { helper: agent, careful: { ...agent, policies } },
  };
}

/** Whether there was something to approve. */
async function approves(url: string, requestId: string): Promise<boolean> {
  const view = await read(url, `/v1/requests/${requestId}`);
  const { run } = JSON.parse(view) as { run?: { waiting_for: readonly { kind: string; id: string }[] } };
  const asked = run?.waiting_for.find(({ kind }) => kind === 'approval');
  if (asked === undefined) return false;
  const response = await fetch(`${url}/v1/requests/${requestId}/approvals/${asked.id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ decision: 'approve' }),
  });
  same(response.ok, true);
  return true;
}

async function read(url: string, path: string): Promise<string> {
  return (await fetch(`${url}${path}`)).text();
}

async function until(otherwise: string, holds: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + LONGEST_MS;
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error(otherwise);
    await wait(AGAIN_MS);
  }
}

function countOf(installation: Installation, label: string): number {
  return installation.executions().filter((execution) => execution.label === label).length;
}

function same(actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${one} instead of ${other}`);
}
