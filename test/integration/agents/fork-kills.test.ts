/** Forks whose engines, or whose caller's process, die at their commands: no `once` tool acts twice, and no answer of a model is paid twice.
 *  It must kill for real, and decide only as a person would: once about each question. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { SubmittedAgentDefinition } from '../../../src/contract/run/agent-definition.ts';
import type { LlmStream, ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { DirectiveRefused } from '../../../src/contract/problem.ts';
import { okResult } from '../../../src/contract/result.ts';
import type { Execution } from '../../../src/worker/executors/definition.ts';
import type { Doom } from '../../support/doomed-engines.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { testModel } from '../../support/executors.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { holdAt, type Step } from '../../support/held-commands.ts';
import { LANE } from '../../support/journal.ts';
import { takenPoints } from '../../support/kill-points.ts';
import { spawnNode } from '../../support/process.ts';
import { programOf } from '../../support/program.ts';
import { useRedis } from '../../support/shared.ts';
import { timePassesUntil } from '../../support/time-passes.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../support/doomed-engines.ts', import.meta.url)));
const ORIGINAL = 'r-original';
const FORK = 'r-fork';
/** About as many as a fork of two rounds sends; beyond that nobody dies. */
const COMMANDS = 24;
const AT_ONCE = 8;

const redis = useRedis();

const PAYER: SubmittedAgentDefinition = {
  name: 'payer',
  strategy: 'react',
  model: 'mock:m',
  stream: true,
  tools: ['*'],
  policies: { approval_timeout_ms: 600_000 },
};

interface Scene {
  readonly engines: EngineTest;
  /** Sums that the tool has charged. */
  readonly charged: unknown[];
  /** `<request>/<directive>` of each model call that was made. */
  readonly asked: string[];
}

/** The model charges 5 in its first turn, in a fork 6 as well; then it is done. */
function turnOf({ request_id, context }: LlmStream): Execution {
  const { messages } = context as { messages: { role: string }[] };
  const sums = request_id === FORK ? [5, 6] : [5];
  const calls = sums.map((eur) => ({ id: `c${eur}`, name: 'charge', arguments: { eur } }));
  const isOver = messages.some(({ role }) => role === 'tool');
  const rest = { thinking: '', usage: null, model: 'mock:m' };
  return {
    result: okResult(
      isOver
        ? { type: 'final_answer', text: 'paid', tool_calls: [], finish_reason: 'stop', ...rest }
        : { type: 'tool_calls', text: '', tool_calls: calls, finish_reason: 'tool_calls', ...rest },
    ),
  };
}

/** The original has ended; no engine is there any more. */
async function sceneWithOriginal(engines: EngineTest): Promise<Scene> {
  const charged: unknown[] = [];
  const asked: string[] = [];
  const { tools, models } = engines.store.catalog.published;
  const charge = {
    name: 'charge',
    server: 'test',
    tool: 'charge',
    input_schema: {},
    effect: 'once' as const,
  };
  await tools.publish({ server: 'test', status: 'ready', tools: [charge], updatedAt: 0 });
  await models.publish({ providers: new Map([['mock', { type: 'openai' as const }]]), aliases: new Map() });
  const execute = async ({ arguments: given }: ToolExec): Promise<Execution> => {
    charged.push(given['eur']);
    return { result: okResult(`charged ${String(given['eur'])}`) };
  };
  const answer = async (call: LlmStream): Promise<Execution> => {
    asked.push(`${call.request_id}/${call.id}`);
    return turnOf(call);
  };
  await engines.startWorker(execute, undefined, {
    lanes: [LANE, 'llm.mock'],
    definitions: [testModel(answer)],
  });
  const engine = await engines.startEngine();
  await engines.client.start({ request_id: ORIGINAL, agent: PAYER.name, query: 'pay' });
  await engines.ended(ORIGINAL);
  await engine.stop();
  expect({ charged, asked }).toEqual({ charged: [5], asked: [`${ORIGINAL}/model-1`, `${ORIGINAL}/model-2`] });
  return { engines, charged, asked };
}

/** A person approves what the fork asks about, and the fork ends. */
async function over({ engines }: Scene): Promise<true> {
  const decided = async (): Promise<void> => {
    const view = (await engines.requests.request(FORK))?.run;
    for (const { kind, id } of view?.waiting_for ?? []) {
      if (kind !== 'approval') continue;
      await engines.requests.runs.decide(FORK, id, { decision: 'approve' }).catch((error: unknown) => {
        if (!(error instanceof DirectiveRefused)) throw error;
      });
    }
    expect(view?.ended_at).toEqual(expect.any(String));
  };
  await untilHolds(decided);
  await eventually(() => engines.index.size()).toBe(0);
  return true;
}

async function judge({ engines, charged, asked }: Scene): Promise<void> {
  expect(charged).toEqual([5, 6]);
  expect(asked.slice(2)).toEqual([`${FORK}/model-1`, `${FORK}/model-2`]);
  const log = await engines.log(FORK);
  expect(log.filter(({ type }) => type === 'ai.request.started')).toHaveLength(1);
  const results = log.flatMap(({ type, data }) => (type === 'ai.tool.result' ? [Object(data)] : []));
  const from_record = { request_id: ORIGINAL, call_id: 'tool-1-0' };
  expect(results.find(({ call_id }) => call_id === 'tool-1-0')?.metadata).toMatchObject({ from_record });
  const made = results.find(({ call_id }) => call_id === 'tool-1-1')?.result;
  expect(made).toMatchObject({ ok: true, payload: 'charged 6' });
  const view = await engines.requests.request(FORK);
  expect(view?.run).toMatchObject({ status: 'completed', result: 'paid', iterations: 2 });
}

const fork = ({ engines }: Scene) => engines.requests.fork(ORIGINAL, { at: 1, request_id: FORK });

function waves(): Step[][] {
  const steps = takenPoints(
    Array.from({ length: COMMANDS }, (_, n): Step[] => [
      { at: n + 1, moment: 'before' },
      ...(n % 3 === 0 ? [{ at: n + 1, moment: 'after' as const }] : []),
    ]).flat(),
  );
  return Array.from({ length: Math.ceil(steps.length / AT_ONCE) }, (_, n) =>
    steps.slice(n * AT_ONCE, (n + 1) * AT_ONCE),
  );
}

test.each(waves().map((steps) => [steps]))('its engine is killed at its commands: %o', async (steps) => {
  await using all = new AsyncDisposableStack();
  const scenes: Scene[] = [];
  for (const _ of steps)
    scenes.push(await sceneWithOriginal(all.use(await openEngineTest(redis.url, { agents: [PAYER] }))));
  const dooms = steps.map((step, index): Doom => ({
    prefix: scenes[index]?.engines.prefix ?? '',
    ...step,
  }));
  const child = spawnNode([DOOMED, redis.url, JSON.stringify(dooms)]);
  await child.waitForLine(/^ready$/);
  const survived = await Promise.all(
    scenes.map(async (scene, index) => {
      await fork(scene);
      const stopped = child.waitForLine(new RegExp(`^stopped ${dooms[index]?.prefix}$`)).then(() => false);
      return Promise.race([stopped, over(scene).catch(() => false)]);
    }),
  );
  expect(await child.kill9()).toMatchObject({ signal: 'SIGKILL' });
  const taken = scenes.map(async (scene, index) => {
    if (!survived[index]) {
      await scene.engines.startEngine();
      await scene.engines.sweeper().start();
      await timePassesUntil(scene.engines, over(scene));
    }
    await judge(scene);
  });
  await Promise.all(taken);
});

test.each(
  takenPoints(
    [1, 2, 3, 4].flatMap((at) => [
      { at, moment: 'before' as const },
      { at, moment: 'after' as const },
    ]),
  ),
)(
  'the process of its caller stops $moment its command $at: the same fork once more is one run',
  async (step) => {
    await using engines = await openEngineTest(redis.url, { agents: [PAYER] });
    const scene = await sceneWithOriginal(engines);
    const { requests } = engines;
    const view = await requests.request(ORIGINAL);
    if (view === null) throw new Error('the original is gone');
    const { held, disarm } = holdAt([engines.connection], FORK, step);
    const body = { at: 1, request_id: FORK, act: false, dry: false };
    const died = engines.client.fork(ORIGINAL, body, { reads: requests, view });
    await Promise.race([held, died]);
    // The worker sends on the same connection.
    disarm();
    await engines.startEngine();
    await engines.sweeper().start();
    await fork(scene);
    await over(scene);
    await judge(scene);
    expect(await requests.request(ORIGINAL)).toMatchObject({ descendants: [FORK] });
  },
);
