/** `npm run demo -- agent`: an agent that knows nothing of Adjutant, killed with SIGKILL twice during its refunds, then its answer, its bill and the counter.
 *  Ends with 0 only if each model turn was paid for once, and each refund was made once. */
import { isDeepStrictEqual } from 'node:util';
import { createTerminal } from '../src/cli/terminal.ts';
import { createRunClient } from '../src/client/http-client.ts';
import {
  ANSWER,
  exampleOf,
  startForeignAgents,
  starterOf,
  untilRefundIsListed,
} from '../test/support/foreign-agents.ts';

const RUN = 'order-4711';
const REFUND_MS = 2_000;
/** The first turn asks for two refunds of A, the second one for a refund of B. */
const KILLS = [
  { label: 'A', count: 2 },
  { label: 'B', count: 1 },
] as const;

const terminal = createTerminal(process.stdout, process.stderr);
const say = (text: string): void => terminal.out(text);
const note = (text: string): void => say(terminal.paint('dim', text));
const typed = (command: string): void => say(`\n${terminal.paint('bold', `$ ${command}`)}`);

const scene = await startForeignAgents(REFUND_MS);
try {
  process.exitCode = (await play()) ? 0 : 1;
} finally {
  await scene[Symbol.asyncDispose]();
}

async function play(): Promise<boolean> {
  const { installation } = scene;
  const [{ url }] = await Promise.all([installation.start('api'), installation.start('worker')]);
  await untilRefundIsListed(url);
  const start = await starterOf(exampleOf('openai.ts'));
  if (start === null) throw new Error('The agent in examples/agents/openai.ts cannot be started.');
  note('An API, a worker and a scripted model provider run. The tool refunds money, and must not run twice.');
  note('The model asks for two refunds of A, then for one of B: 3 turns, 3 refunds.');
  note(`OPENAI_BASE_URL=${url}/runs/${RUN}/openai/v1`);
  note(`MCP_URL=${url}/runs/${RUN}/mcp`);
  for (const { label, count } of KILLS) {
    typed('node examples/agents/openai.ts');
    const agent = start(url, RUN);
    await scene.untilRefunded(RUN, label, count);
    report();
    typed(`kill -9 ${agent.pid}   # the agent, during its refund of ${label}`);
    await agent.kill9();
  }
  typed('node examples/agents/openai.ts');
  const answer = await start(url, RUN).waitForLine(/^answer/);
  say(answer);
  report();
  const { passes, trace_id: trace } = await createRunClient({ baseUrl: url }).read(RUN);
  note(`The run has ${passes} passes, which are one trace: ${trace}`);
  const once = { asked: [1, 1, 1], refunds: [2, 1], isUnknown: false };
  const isRight = isDeepStrictEqual(scene.counted(RUN), once);
  return isRight && answer === `answer: ${ANSWER}`;
}

function report(): void {
  const { asked, refunds } = scene.counted(RUN);
  const paid = asked.reduce((sum, count) => sum + count, 0);
  say(`model turns paid for: ${paid}; refunds of A: ${refunds[0]} of 2, of B: ${refunds[1]} of 1`);
}
