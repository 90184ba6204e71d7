/** The pictures of the README: `node scripts/readme-pictures.ts` writes docs/demo.svg and docs/demo-agent.svg, the recorded output of
 *  `npm run demo` and of `npm run demo -- agent`, and docs/timeline.png, the console's page of a run whose worker was killed and whose payment waited for an approval. */
import { spawn } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { createHttpClient } from '../src/client/http-client.ts';
import { startBrowser } from '../test/support/browser.ts';
import { install } from '../test/support/installation.ts';
import { cast, type CastLine } from './cast.ts';
import { ensureConsole } from './console-freshness.mjs';

const MOST_BYTES = 150_000;
const REQUEST = 'order-1042';

const TURNS = [
  {
    when: { user: 'order', tool_results: false },
    thinking: 'The balance must be known before the card is charged.',
    tool_calls: [
      { name: 'bank.balance', arguments: {} },
      { name: 'bank.charge', arguments: { euros: 40 } },
    ],
  },
  { text: 'The card was charged with 40 €; the balance was 960 €.' },
];

/** Alternative text of each recording. */
const SHOWN = {
  worker: 'A worker is killed with kill -9; the tool that must not run twice ran once',
  agent: 'An agent is killed with kill -9 twice; it pays for no answer twice, and each refund was made once',
} as const;

const only = process.argv.slice(2);
if (only.length === 0 || only.includes('demo')) await recordDemo('worker', resolve('docs/demo.svg'));
if (only.length === 0 || only.includes('agent')) await recordDemo('agent', resolve('docs/demo-agent.svg'));
if (only.length === 0 || only.includes('timeline')) await shootTimeline(resolve('docs/timeline.png'));

async function recordDemo(what: keyof typeof SHOWN, file: string): Promise<void> {
  const args = ['--conditions=adjutant-source', 'scripts/demo.ts', what];
  const env = { ...process.env, NO_COLOR: '1' };
  const demo = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: CastLine[] = [];
  for await (const text of createInterface({ input: demo.stdout }))
    lines.push({ text, atMs: performance.now() });
  written(file, cast(lines, SHOWN[what]));
}

async function shootTimeline(file: string): Promise<void> {
  ensureConsole(process.cwd(), process.execPath, process.env);
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-picture-'));
  const turns = join(folder, 'turns.json');
  await writeFile(turns, JSON.stringify({ turns: TURNS }));
  const bank = {
    command: process.execPath,
    args: [resolve('examples/servers/bank.ts'), join(folder, 'executions.txt')],
  };
  await using installation = await install({
    config: {
      mcpServers: { bank },
      providers: { scripted: { type: 'scripted', file: turns } },
      models: { fast: ['scripted:any'] },
      agents: {
        clerk: {
          description: 'Charges cards, and asks before it does',
          model_alias: 'fast',
          tools: ['bank.*'],
          policies: { approvals: { 'bank.charge': 'ask' } },
        },
      },
      worker: { lease_ms: 2_000 },
    },
  });
  const [{ url }, worker] = await Promise.all([
    installation.start('api'),
    installation.start('worker'),
    installation.start('engine'),
  ]);
  const client = createHttpClient({ baseUrl: url });
  await client.runs.start({ request_id: REQUEST, agent: 'clerk', query: 'Charge the card of order 1042' });
  let killed = false;
  for await (const signal of client.signals(REQUEST)) {
    if (signal.type === 'ai.tool.started' && !killed) {
      killed = true;
      await worker.kill9();
      await installation.start('worker');
    }
    if (signal.type !== 'ai.tool.result' || !killed) continue;
    const { approvals } = await client.approvals();
    for (const { call_id: callId } of approvals)
      await client.runs.decide(REQUEST, callId, { decision: 'approve' });
  }
  await client.close();
  await using browser = await startBrowser();
  await using shown = await browser.open(url, `/requests/${REQUEST}`, {
    width: 1280,
    height: 460,
    theme: 'light',
  });
  await shown.page.locator('.timeline-row').nth(2).waitFor();
  await shown.page.evaluate('document.fonts.ready.then(() => null)');
  written(file, await shown.page.screenshot({ animations: 'disabled' }));
  await rm(folder, { recursive: true, force: true });
}

function written(file: string, content: string | Buffer): void {
  writeFileSync(file, content);
  const { size } = statSync(file);
  console.log(`${file.slice(process.cwd().length + 1)} ${Math.round(size / 1_024)} KiB`);
  if (size > MOST_BYTES) throw new Error(`${file} is too large for the README: ${size} bytes`);
}
