/** `npm run demo`: the service with real MCP servers, six kinds of calls, a model, an agent, and a table of the ends.
 *  It must exit 0 only if every directive ended as it should. */
import { table } from '../src/cli/table.ts';
import { createTerminal, type Terminal } from '../src/cli/terminal.ts';
import { createHttpClient } from '../src/client/http-client.ts';
import type { DirectiveClient } from '../src/contract/directive/directive-client.ts';
import type { Signal } from '../src/contract/signal/signal.ts';
import { CASES, type DemoCase, FLAKY_REPORT } from './demo/cases.ts';
import { demoModel } from './demo/model.ts';
import { play, SCENES } from './demo/scenes.ts';
import { type DemoService, startService } from './demo/service.ts';
import { createSignalPrinter } from './demo/signal-printer.ts';
import { judge, type Verdict } from './demo/verdict.ts';

interface Outcome extends Verdict {
  readonly title: string;
  readonly calls: number;
  readonly elapsedMs: number;
}

const terminal = createTerminal(process.stdout, process.stderr);
terminal.out('Starting a service of its own, with four MCP servers …');
const model = demoModel(process.env);
const service = await startService(model);
const client = createHttpClient({ baseUrl: service.url });
try {
  const outcomes: Outcome[] = [];
  for (const demoCase of CASES) outcomes.push(await runCase(client, terminal, demoCase));
  terminal.out(`\n${model.notice}`);
  for (const scene of SCENES) outcomes.push(await play(scene, { client, terminal, url: service.url }));
  const faults = [...outcomes.flatMap((outcome) => outcome.faults), ...(await countFaults(service))];
  terminal.out(`\n${rowsOf(outcomes).join('\n')}\n`);
  for (const fault of faults) terminal.out(`Wrong: ${fault}.`);
  if (faults.length === 0) terminal.out('Every directive and every run ended once, as expected.');
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await client.close();
  await service.stop();
}

async function runCase(through: DirectiveClient, on: Terminal, demoCase: DemoCase): Promise<Outcome> {
  const { title, directives } = demoCase;
  on.out(`\n${on.paint('bold', title)}`);
  const print = createSignalPrinter(on, directives.length);
  const startedAt = performance.now();
  const { request_id: requestId } = await through.submit(directives);
  const signals: Signal[] = [];
  for await (const signal of through.signals(requestId)) {
    signals.push(signal);
    print(signal);
  }
  const elapsedMs = performance.now() - startedAt;
  return { title, calls: directives.length, elapsedMs, ...judge(demoCase, signals) };
}

/** The server's own count shows attempts that the signals do not report. */
async function countFaults(of: DemoService): Promise<string[]> {
  const calls = await of.callsOf(FLAKY_REPORT);
  return calls === 3 ? [] : [`the flaky server counted ${calls} calls instead of 3`];
}

function rowsOf(outcomes: readonly Outcome[]): string[] {
  const header = ['what', 'calls', 'attempts', 'time', 'ended in', ''];
  const rows = outcomes.map(({ title, calls, endings, attempts, elapsedMs, faults }) => [
    title,
    String(calls),
    String(attempts),
    `${elapsedMs.toFixed(0)} ms`,
    endings,
    faults.length === 0 ? '✓' : `✗ ${faults.join('; ')}`,
  ]);
  return table([header, ...rows]);
}
