/** Resumed and forked runs whose engines, or whose caller's process, die at their commands: no `once` tool acts twice, and no answer of
 *  a model is paid twice. `GOING_ON_KILLS`: how many engines. It must kill for real, and decide only as a person would: once about each question. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { SubmittedAgentDefinition } from '../../../src/contract/run/agent-definition.ts';
import type { LlmStream, ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { DirectiveRefused } from '../../../src/contract/problem.ts';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../src/contract/result.ts';
import type { Execution } from '../../../src/worker/executors/definition.ts';
import type { Doom } from '../../support/doomed-engines.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { testModel } from '../../support/executors.ts';
import { eventually, untilHolds } from '../../support/eventually.ts';
import { holdAt, type Step } from '../../support/held-commands.ts';
import { LANE } from '../../support/journal.ts';
import { spawnNode } from '../../support/process.ts';
import { programOf } from '../../support/program.ts';
import { useRedis } from '../../support/shared.ts';
import { timePassesUntil } from '../../support/time-passes.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../support/doomed-engines.ts', import.meta.url)));
const ORIGINAL = 'r-original';
const FORK = 'r-fork';
/** About as many as a fork or a resume of two rounds sends; a later death has no effect. */
const COMMANDS = 24;
const AT_ONCE = 8;
const KILLS = Number(process.env['GOING_ON_KILLS'] ?? 32);

type Kind = 'resume' | 'fork';
const KINDS: readonly Kind[] = ['resume', 'fork'];
const ENDED: Readonly<Record<Kind, string>> = { resume: ORIGINAL, fork: FORK };
/** Model calls before and after the kills. The one that failed has the same turn as its repeat. */
const ASKED: Readonly<Record<Kind, readonly [before: string[], after: string[]]>> = {
  resume: [
    [`${ORIGINAL}/model-1`, `${ORIGINAL}/model-2`],
    [`${ORIGINAL}/model-2.resume-1`, `${ORIGINAL}/model-3`],
  ],
  fork: [
    [`${ORIGINAL}/model-1`, `${ORIGINAL}/model-2`],
    [`${FORK}/model-1`, `${FORK}/model-2`],
  ],
};

const redis = useRedis();

const PAYER: SubmittedAgentDefinition = {
  name: 'payer',
  strategy: 'react',
  model: 'mock:m',
  stream: true,
  tools: ['*'],
  model_call: { max_retries: 0 },
  policies: { approval_timeout_ms: 600_000 },
};

interface Scene {
  readonly kind: Kind;
  readonly engines: EngineTest;
  /** Sums that the tool has charged. */
  readonly charged: unknown[];
  /** `<request>/<directive>` of each model call that was made. */
  readonly asked: string[];
}

/** The model charges 5 first, and then 6: in the first turn of a fork, in the second one of a resumed run, which failed before. */
function turnOf({ request_id, id, context }: LlmStream, kind: Kind): Execution {
  const { messages } = context as { messages: { role: string }[] };
  const results = messages.filter(({ role }) => role === 'tool').length;
  if (kind === 'resume' && id === 'model-2') return { result: errorResult(AWAY) };
  const sums = kind === 'resume' ? [[5], [6]] : [request_id === FORK ? [5, 6] : [5]];
  const calls = (sums[results] ?? []).map((eur) => ({ id: `c${eur}`, name: 'charge', arguments: { eur } }));
  const isOver = calls.length === 0;
  const rest = { thinking: '', usage: null, model: 'mock:m' };
  return {
    result: okResult(
      isOver
        ? { type: 'final_answer', text: 'paid', tool_calls: [], finish_reason: 'stop', ...rest }
        : { type: 'tool_calls', text: '', tool_calls: calls, finish_reason: 'tool_calls', ...rest },
    ),
  };
}

const AWAY = errorEnvelope('provider_error', 'The provider is away');

/** The original has ended, one to be resumed in a failure; no engine is running any more. */
async function sceneWithOriginal(kind: Kind, engines: EngineTest): Promise<Scene> {
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
    return turnOf(call, kind);
  };
  await engines.startWorker(execute, undefined, {
    lanes: [LANE, 'llm.mock'],
    definitions: [testModel(answer)],
  });
  const engine = await engines.startEngine();
  await engines.client.start({ request_id: ORIGINAL, agent: PAYER.name, query: 'pay' });
  await engines.ended(ORIGINAL);
  await eventually(async () => (await engines.journal.head(ORIGINAL))?.status).toBe('closed');
  await engine.stop();
  expect({ charged, asked }).toEqual({ charged: [5], asked: ASKED[kind][0] });
  return { kind, engines, charged, asked };
}

/** A person approves what the run asks about, and the run ends. */
async function over({ kind, engines }: Scene): Promise<true> {
  const request = ENDED[kind];
  const decided = async (): Promise<void> => {
    const view = (await engines.requests.request(request))?.run;
    for (const { kind: asks, id } of view?.waiting_for ?? []) {
      if (asks !== 'approval') continue;
      await engines.requests.runs.decide(request, id, { decision: 'approve' }).catch((error: unknown) => {
        if (!(error instanceof DirectiveRefused)) throw error;
      });
    }
    expect(view?.ended_at).toEqual(expect.any(String));
  };
  await untilHolds(decided);
  await eventually(() => engines.index.size()).toBe(0);
  return true;
}

const STARTS: Readonly<Record<Kind, readonly string[]>> = {
  resume: ['started', 'failed', 'resumed', 'completed'],
  fork: ['started', 'completed'],
};

async function judge({ kind, engines, charged, asked }: Scene): Promise<void> {
  expect(charged).toEqual([5, 6]);
  expect(asked.slice(2)).toEqual(ASKED[kind][1]);
  const log = await engines.log(ENDED[kind]);
  expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, at) => at + 1));
  const states = log.flatMap(({ type }) => (type.startsWith('ai.request.') ? [type.slice(11)] : []));
  expect(states).toEqual(STARTS[kind]);
  const view = await engines.requests.request(ENDED[kind]);
  expect(view?.run).toMatchObject({ status: 'completed', result: 'paid' });
  expect(await engines.journal.head(ENDED[kind])).toMatchObject({ status: 'closed', open: 0 });
  if (kind === 'resume') return;
  const results = log.flatMap(({ type, data }) => (type === 'ai.tool.result' ? [Object(data)] : []));
  const from_record = { request_id: ORIGINAL, call_id: 'tool-1-0' };
  expect(results.find(({ call_id }) => call_id === 'tool-1-0')?.metadata).toMatchObject({ from_record });
}

/** The same call once more is the same fork, or the same resume. */
async function goOn({ kind, engines }: Scene): Promise<void> {
  const { requests } = engines;
  if (kind === 'fork') await requests.fork(ORIGINAL, { at: 1, request_id: FORK });
  else await requests.runs.resume(ORIGINAL, {}, { idempotencyKey: 'once' });
}

/** Steps of each kind: spread over the commands, alternately before and after. */
function waves(): { kind: Kind; steps: Step[] }[] {
  const ofEach = Math.ceil(KILLS / KINDS.length);
  const spread = Math.max(1, COMMANDS / ofEach);
  const steps = Array.from({ length: ofEach }, (_, n): Step => ({
    at: (Math.floor(n * spread) % COMMANDS) + 1,
    moment: (n + Math.floor(n / COMMANDS)) % 2 === 0 ? 'before' : 'after',
  }));
  return KINDS.flatMap((kind) =>
    Array.from({ length: Math.ceil(ofEach / AT_ONCE) }, (_, n) => ({
      kind,
      steps: steps.slice(n * AT_ONCE, (n + 1) * AT_ONCE),
    })),
  );
}

test.each(waves())(
  '$kind: its engine is killed at its commands: $steps',
  async ({ kind, steps }) => {
    await using all = new AsyncDisposableStack();
    const scenes: Scene[] = [];
    for (const _ of steps)
      scenes.push(
        await sceneWithOriginal(kind, all.use(await openEngineTest(redis.url, { agents: [PAYER] }))),
      );
    const dooms = steps.map((step, index): Doom => ({
      prefix: scenes[index]?.engines.prefix ?? '',
      ...step,
    }));
    const child = spawnNode([DOOMED, redis.url, JSON.stringify(dooms)]);
    await child.waitForLine(/^ready$/);
    const survived = await Promise.all(
      scenes.map(async (scene, index) => {
        await goOn(scene);
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
  },
  180_000,
);

test.each(
  KINDS.flatMap((kind) =>
    (process.env['GOING_ON_KILLS'] === undefined ? [1, 2] : [1, 2, 3, 4]).flatMap((at) => [
      { kind, at, moment: 'before' as const },
      { kind, at, moment: 'after' as const },
    ]),
  ),
)(
  '$kind: the process of its caller stops $moment its command $at: the same call once more is one run',
  async ({ kind, ...step }) => {
    await using engines = await openEngineTest(redis.url, { agents: [PAYER] });
    const scene = await sceneWithOriginal(kind, engines);
    const { held, disarm } = holdAt([engines.connection], ENDED[kind], step);
    await Promise.race([held, dyingCall(scene)]);
    // The worker sends on the same connection.
    disarm();
    await engines.startEngine();
    await engines.sweeper().start();
    await goOn(scene);
    await over(scene);
    await judge(scene);
    if (kind === 'fork')
      expect(await engines.requests.request(ORIGINAL)).toMatchObject({ descendants: [FORK] });
  },
  60_000,
);

/** The call of a process that is held before it gets its answer. */
async function dyingCall({ kind, engines }: Scene): Promise<void> {
  const { client, requests } = engines;
  if (kind === 'resume') {
    await client.resume(ORIGINAL, {}, { idempotencyKey: 'once' });
    return;
  }
  const view = await requests.request(ORIGINAL);
  if (view === null) throw new Error('the original is gone');
  const body = { at: 1, request_id: FORK, act: false, dry: false };
  await client.fork(ORIGINAL, body, { reads: requests, view });
}
