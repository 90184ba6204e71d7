/** `npm run test:agents -- [instants] [examples]`: every agent of examples/agents is killed at 20 instants of its work, then the worker, the API and
 *  Redis in turn, and started again until it answers; then a pass of 30 turns is replayed. Prints a table; it must never exit with 0 after a wrong count. */
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
import type { AdjutantProcess } from '../support/installation.ts';
import { freePort } from '../support/process.ts';

const REFUND_MS = 500;
const LONGEST_RUN_MS = 60_000;
/** Runs of killed agents at the same time; each is a run of its own. */
const AT_ONCE = 2;
const LONG_PASS = 30;
const LONG_PASS_GOAL_MS = 300;
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
let [api, worker] = await Promise.all([installation.start('api', port), installation.start('worker')]);
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
    await delay(calmMs / 2);
    await killed(part);
    await agent.kill9();
    await answered(start, run);
    parts.push(judge(run, `${part} killed`, part) ? 'right' : 'wrong');
  }
  const rights = results.filter(Boolean).length;
  return `| ${[example.name, calmMs, replayMs, `${rights} of ${COUNT} right`, ...parts].join(' | ')} |`;
}

/** The time of a pass of 30 turns, made and replayed, as one caller asks for them one after the other. */
async function longPass(): Promise<string> {
  const asked: string[] = [];
  const pass = async (): Promise<string[]> => {
    const messages: object[] = [{ role: 'user', content: 'Go through the turns of long.' }];
    const answers: string[] = [];
    for (let turn = 0; turn < LONG_PASS; turn += 1) {
      const body = JSON.stringify({ model: 'play:m', messages });
      const headers = { 'content-type': 'application/json' };
      const url = `${api.url}/runs/long/openai/v1/chat/completions`;
      const response = await fetch(url, { method: 'POST', headers, body });
      answers.push(await response.text());
      asked.push(response.headers.get('adjutant-replayed') ?? 'false');
      messages.push({ role: 'assistant', content: `turn ${turn}` });
    }
    return answers;
  };
  const answers: string[][] = [];
  const [madeMs, replayedMs] = [
    await timed(async () => void answers.push(await pass())),
    await timed(async () => void answers.push(await pass())),
  ];
  const isReplayed = asked.slice(LONG_PASS).every((replayed) => replayed === 'true');
  if (!isReplayed || JSON.stringify(answers[0]) !== JSON.stringify(answers[1])) wrong += 1;
  const goal = replayedMs < LONG_PASS_GOAL_MS ? 'within' : 'above';
  return `\nA pass of ${LONG_PASS} turns: made in ${madeMs} ms, replayed in ${replayedMs} ms, ${goal} the goal of ${LONG_PASS_GOAL_MS} ms on a quiet machine.`;
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
  if (part === 'api') api = await installation.start('api', port);
  else worker = await installation.start('worker');
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

/** `part`: the process that was killed besides the agent; a killed worker's attempt may have reached the provider. */
function judge(run: string, what: string, part: Part | null): boolean {
  const counted = agents.counted(run);
  const isRight = countsAreRight(counted, part);
  if (isRight) return true;
  wrong += 1;
  say(`${run}, ${what}: asked ${counted.asked.join(', ')}; refunds ${counted.refunds.join(', ')}.`);
  return false;
}

function countsAreRight({ asked, refunds: [ofA = 0, ofB = 0] }: Counted, part: Part | null): boolean {
  const most = part === null ? 1 : 2;
  if (asked.some((count) => count < 1) || asked.some((count) => count > most)) return false;
  // A refund whose worker died may be of unknown outcome, and is not made again.
  return part === null ? ofA === 2 && ofB === 1 : ofA <= 2 && ofB <= 1;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return Math.round(performance.now() - begun);
}
