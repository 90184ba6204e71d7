/** `npm run test:agents -- [instants] [examples]`: every agent of examples/agents is killed at 20 instants of its work, then the worker, the API and
 *  Redis in turn, and started again until it answers; then a pass of 30 turns is replayed. Prints a table; it must never exit with 0 after a wrong count. */
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type AgentExample,
  ANSWER,
  type Counted,
  EXAMPLES,
  exampleOf,
  type StartAgent,
  startForeignAgents,
  starterOf,
  untilRefundIsListed,
} from '../support/foreign-agents.ts';
import type { AdjutantProcess, Processes } from '../support/installation.ts';
import { freePort } from '../support/process.ts';

const REFUND_MS = 500;
const AGAIN_MS = 10;
const LONGEST_RUN_MS = 180_000;
/** Runs of killed agents at the same time; each is a run of its own. */
const AT_ONCE = 2;
const LONG_PASS = 30;
const LONG_PASS_GOAL_MS = 300;
const REPLAYS = 5;
/** Starts of a part of the installation before the program gives up. */
const STARTS = 3;
const PARTS = ['worker', 'api', 'redis'] as const;

type Part = (typeof PARTS)[number];

const [instants = '20', ...names] = process.argv.slice(2);
const COUNT = Number(instants);
if (!Number.isInteger(COUNT) || COUNT < 1) throw new Error('The number of instants is a whole number.');
const chosen = names.length === 0 ? EXAMPLES : names.map(exampleOf);

// An orderly exit also ends the children.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const agents = await startForeignAgents(REFUND_MS);
const { installation } = agents;
const port = await freePort();
let [api, worker] = await Promise.all([started('api', port), started('worker')]);
await untilRefundIsListed(api.url);
let wrong = 0;
try {
  say('| agent | calm, ms | replay, ms | killed | worker | api | redis |');
  say('| --- | --- | --- | --- | --- | --- | --- |');
  for (const example of chosen) say(await rowOf(example));
  say(await longPass());
} finally {
  await agents[Symbol.asyncDispose]();
}
if (wrong > 0) say(`${wrong} runs were wrong.`);
process.exitCode = wrong > 0 ? 1 : 0;

async function rowOf(example: AgentExample): Promise<string> {
  const start = await starterOf(example);
  if (start === null) return `| ${example.name} | no Python |||||`;
  const prefix = example.name.replaceAll(/[^a-z]+/g, '-');
  const calmMs = await timed(async () => answered(start, `${prefix}-calm`));
  judge(`${prefix}-calm`, 'calm', null);
  const replayMs = await timed(async () => answered(start, `${prefix}-calm`));
  judge(`${prefix}-calm`, 'replay', null);
  const todo = Array.from({ length: COUNT }, (_, at) => at + 1);
  const results: boolean[] = [];
  const killers = Array.from({ length: AT_ONCE }, async () => {
    for (let at = todo.shift(); at !== undefined; at = todo.shift()) {
      const run = `${prefix}-${at}`;
      const agent = start(api.url, run);
      await delay((calmMs * at) / (COUNT + 1));
      await agent.kill9();
      await answered(start, run);
      results.push(judge(run, `killed at ${at}/${COUNT + 1}`, null));
    }
  });
  await Promise.all(killers);
  const parts: string[] = [];
  for (const part of PARTS) {
    const run = `${prefix}-${part}`;
    const agent = start(api.url, run);
    await untilAsked(run, agent);
    await delay(REFUND_MS);
    await killed(part);
    await agent.kill9();
    await answered(start, run);
    const isBranch = await leftItsRecord(run);
    parts.push(partText(run, judge(run, `${part} killed`, part, isBranch), isBranch));
  }
  const rights = results.filter(Boolean).length;
  return `| ${[example.name, calmMs, replayMs, `${rights} of ${COUNT} right`, ...parts].join(' | ')} |`;
}

/** The time of a pass of 30 turns, made and replayed, as one caller asks for them one after the other. */
async function longPass(): Promise<string> {
  const made = await pass();
  const replays: Pass[] = [];
  for (let at = 0; at < REPLAYS; at += 1) replays.push(await pass());
  const areRight = replays.every(({ answers, replayed }) => {
    const isEqual = JSON.stringify(answers) === JSON.stringify(made.answers);
    return isEqual && replayed === LONG_PASS;
  });
  if (!areRight) wrong += 1;
  const times = replays.map(({ ms }) => ms).toSorted((one, other) => one - other);
  const [least = 0, median = 0, most = 0] = [times[0], times[REPLAYS >> 1], times.at(-1)];
  const goal = median < LONG_PASS_GOAL_MS ? 'within' : 'above';
  const load = loadavg()[0]?.toFixed(1);
  return (
    `\nA pass of ${LONG_PASS} turns: made in ${made.ms} ms; replayed ${REPLAYS} times in ${least} to ${most} ms, median ${median} ms ` +
    `(${(made.ms / median).toFixed(1)} times as fast), ${goal} the goal of ${LONG_PASS_GOAL_MS} ms; load of the machine ${load}.`
  );
}

interface Pass {
  readonly answers: readonly string[];
  /** Number of answers from the record. */
  readonly replayed: number;
  readonly ms: number;
}

async function pass(): Promise<Pass> {
  const messages: object[] = [{ role: 'user', content: 'Go through the turns of long.' }];
  const answers: string[] = [];
  let replayed = 0;
  const ms = await timed(async () => {
    for (let turn = 0; turn < LONG_PASS; turn += 1) {
      const body = JSON.stringify({ model: 'play:m', messages });
      const headers = { 'content-type': 'application/json' };
      const url = `${api.url}/runs/long/openai/v1/chat/completions`;
      const response = await fetch(url, { method: 'POST', headers, body });
      answers.push(await response.text());
      if (response.headers.get('adjutant-replayed') === 'true') replayed += 1;
      messages.push({ role: 'assistant', content: `turn ${turn}` });
    }
  });
  return { answers, replayed, ms };
}

/** A machine that does nothing else starts a part in a second; on a busy one a start may fail, which is reported and tried again. */
async function started(...asked: Parameters<Processes['start']>): Promise<AdjutantProcess> {
  for (let left = STARTS - 1; ; left -= 1)
    try {
      return await installation.start(...asked);
    } catch (error) {
      if (left === 0) throw error;
      say(`${asked[0]} did not start, and is started again: ${String(error)}`);
    }
}

/** Kills a part of the installation and starts it again. */
async function killed(part: Part): Promise<void> {
  if (part === 'redis') {
    await installation.redis.kill9();
    await installation.redis.restart();
    return;
  }
  const old: AdjutantProcess = part === 'api' ? api : worker;
  await old.kill9();
  if (part === 'api') api = await started('api', port);
  else worker = await started('worker');
}

/** Starts the agent until it answers: a service that is down may make it fail. */
async function answered(start: StartAgent, run: string): Promise<void> {
  const until = Date.now() + LONGEST_RUN_MS;
  const last: string[] = [];
  while (Date.now() < until) {
    const agent = start(api.url, run);
    const line = await agent.waitForLine(/^answer/, until - Date.now()).catch(() => null);
    await agent.kill9();
    if (line === `answer: ${ANSWER}`) return;
    last.splice(0, last.length, ...agent.lines.slice(-8));
  }
  wrong += 1;
  say(`${run} has no answer after ${LONGEST_RUN_MS} ms. Its last lines:\n${last.join('\n')}`);
}

/** Resolves when the provider has seen the first turn, or the agent has ended. An agent that begins without the API has no tools: its first turn
 *  then is another task (docs/any-agent.md). */
async function untilAsked(run: string, agent: ReturnType<StartAgent>): Promise<void> {
  let hasEnded = false;
  void agent.exited.then(() => (hasEnded = true));
  while (!hasEnded && agents.counted(run).asked[0] === 0) await delay(AGAIN_MS);
}

/** Whether a start of the agent sent another history, each turn of which is in the record and was paid for once: a host that outlives the API
 *  tells its model of the lost connection, and may go on beside its next start. */
async function leftItsRecord(run: string): Promise<boolean> {
  const { turns } = (await (await fetch(`${api.url}/v1/runs/${run}`)).json()) as { turns: number };
  const { asked } = agents.counted(run);
  return turns > asked.length && turns === asked.reduce((sum, count) => sum + count);
}

/** `part`: the process that was killed besides the agent. Returns whether the counts are right. */
function judge(run: string, what: string, part: Part | null, isBranch = false): boolean {
  const counted = agents.counted(run);
  if (countsAreRight(counted, part, isBranch)) return true;
  wrong += 1;
  const { asked, refunds, isUnknown } = counted;
  const unknown = isUnknown ? ', an unknown outcome was reported' : '';
  say(`${run}, ${what}: asked ${asked.join(', ')}; refunds ${refunds.join(', ')}${unknown}.`);
  return false;
}

/** Only the attempt of a killed worker, or of one that lost its claim with Redis, may have reached the provider besides another one, and the
 *  turns of a branch, which never repeats a refund. */
function countsAreRight(
  { asked, refunds: [ofA = 0, ofB = 0], isUnknown }: Counted,
  part: Part | null,
  isBranch: boolean,
): boolean {
  const isRepeated = part === 'worker' || part === 'redis';
  const most = isRepeated || isBranch ? 2 : 1;
  if (asked.some((count) => count < 1 || count > most)) return false;
  // A refund whose worker died is of unknown outcome, which the model has read, and is not made again.
  return (ofA === 2 && ofB === 1) || (isRepeated && isUnknown && ofA <= 2 && ofB <= 1);
}

/** The cell of a run whose part was killed. */
function partText(run: string, isRight: boolean, isBranch: boolean): string {
  const { asked, isUnknown } = agents.counted(run);
  const more = asked.reduce((sum, count) => sum + count - 1, 0);
  const facts = [
    ...(more > 0 ? [`${more} more at the provider`] : []),
    ...(isUnknown ? ['unknown outcome'] : []),
    ...(isBranch ? ['another history'] : []),
  ];
  return [isRight ? 'right' : 'wrong', ...facts].join(', ');
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return Math.round(performance.now() - begun);
}
