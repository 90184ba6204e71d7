/** `npm run demo`: a tool that must not run twice, its worker killed with SIGKILL, the answer, and the tool's own counter.
 *  Ends with 0 only if the counter is 1, the caller got exactly one answer, and the read-only call was executed again. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { signalLine } from '../src/cli/following/signal-lines.ts';
import { createTerminal } from '../src/cli/terminal.ts';
import { createHttpClient } from '../src/client/http-client.ts';
import { isTerminalSignal, type TerminalSignal } from '../src/contract/signal/signal.ts';
import { startPrivateRedis } from '../src/platform/redis/private-redis.ts';
import { pause } from '../src/platform/lifecycle.ts';
import { type Child, spawnNode } from '../test/support/process.ts';

const POLL_MS = 20;
const REQUEST = 'demo';
/** `charge` declares nothing about repeats, so it is `once`; `balance` declares `readOnlyHint`, so it is `read`. */
const CALLS = [
  {
    request_id: REQUEST,
    id: 'charge',
    type: 'tool_exec',
    tool_name: 'bank.charge',
    arguments: { euros: 40 },
  },
  { request_id: REQUEST, id: 'balance', type: 'tool_exec', tool_name: 'bank.balance', arguments: {} },
] as const;

const terminal = createTerminal(process.stdout, process.stderr);
const say = (text: string): void => terminal.out(text);
const note = (text: string): void => say(terminal.paint('dim', text));
const typed = (command: string): void => say(`\n${terminal.paint('bold', `$ ${command}`)}`);

const folder = await mkdtemp(join(tmpdir(), 'adjutant-demo-'));
const counter = join(folder, 'executions.txt');
const executions = (tool: string): number =>
  existsSync(counter)
    ? readFileSync(counter, 'utf8')
        .split('\n')
        .filter((line) => line === tool).length
    : 0;
const children: Child[] = [];
const redis = await startPrivateRedis(folder, {
  path: process.env['PATH'],
  onNotice: ({ says }) => note(says),
});
try {
  process.exitCode = (await play()) ? 0 : 1;
} finally {
  await Promise.all(children.map(async (child) => child.stop()));
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
}

async function play(): Promise<boolean> {
  const [api, worker] = await Promise.all([start('api', '--port', '0'), start('worker')]);
  const client = createHttpClient({ baseUrl: urlOf(await listening(api)) });
  await listening(worker);
  note('An API and a worker run. The tool bank.charge must not run twice; bank.balance only reads.');
  typed('adjutant call bank.charge \'{"euros":40}\' & adjutant call bank.balance &');
  await client.submit(CALLS);
  const ends: TerminalSignal[] = [];
  let shown = 0;
  const followed = (async () => {
    for await (const signal of client.signals(REQUEST)) {
      say(signalLine(signal, terminal.paint));
      shown += 1;
      if (isTerminalSignal(signal)) ends.push(signal);
    }
  })();
  while (Math.min(shown, executions('charge') + executions('balance')) < CALLS.length) await pause(POLL_MS);
  typed(`kill -9 ${worker.pid}   # the worker, in the middle of both calls`);
  await worker.kill9();
  typed('adjutant worker');
  await start('worker');
  await followed;
  await client.close();
  const [charges, balances] = [executions('charge'), executions('balance')];
  typed('sort executions.txt | uniq -c   # counted by the tools themselves');
  say(
    `${charges} charge     ${terminal.paint('dim', 'its caller knows that the outcome is unknown; no second charge')}`,
  );
  say(`${balances} balance    ${terminal.paint('dim', 'executed again, and answered')}`);
  const answered = CALLS.every(
    ({ id }) => ends.filter(({ data }) => 'call_id' in data && data.call_id === id).length === 1,
  );
  return charges === 1 && balances === 2 && answered;
}

/** A short lease, so that the demonstration does not wait for 6 seconds. */
async function start(role: 'api' | 'worker', ...more: string[]): Promise<Child> {
  const config = join(folder, 'adjutant.json');
  const bank = { command: process.execPath, args: [resolve('examples/servers/bank.ts'), counter] };
  await writeFile(config, JSON.stringify({ mcpServers: { bank }, worker: { lease_ms: 2_000 } }));
  const child = spawnNode([resolve('src/cli/main.ts'), role, '--config', config, ...more], {
    cwd: folder,
    env: { REDIS_URL: redis.url, ADJUTANT_LOG_LEVEL: 'silent' },
  });
  children.push(child);
  return child;
}

async function listening(child: Child): Promise<string> {
  return child.waitForLine(/^adjutant (works|listens on)/);
}

function urlOf(line: string): string {
  return /http\S+/.exec(line)?.[0] ?? '';
}
