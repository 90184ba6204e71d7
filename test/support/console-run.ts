/** An installation whose agents give the page of a request something to show: text, calls, an approval, hostile output.
 *  It must never need a model of a provider. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { install, type InstallationOptions } from './installation.ts';
import { ownServerEntry } from './mcp-servers.ts';
import { post } from './public-api.ts';

/** HTML, a terminal's codes, a mark that turns the direction of text, a link. */
export const HOSTILE_TEXT =
  '<img src=x onerror=alert(1)><script>alert(2)</script> \u001b[31mred \u202egnp.exe [here](javascript:alert(3)) https://evil.example/';

const TURNS = [
  {
    when: { user: 'ledger', tool_results: false },
    thinking: 'Both files are needed before anything is sent.',
    text: 'I read both files, then I send the difference.',
    tool_calls: [
      { name: 'counting.read', arguments: { label: 'ledger.csv', failures: 1, delay_ms: 20 } },
      { name: 'counting.idempotent', arguments: { label: 'bank.csv' } },
      { name: 'counting.once', arguments: { label: 'mail to ops@example.org' } },
    ],
  },
  { when: { user: 'long story' }, text: Array.from({ length: 600 }, (_, index) => `word${index}`).join(' ') },
  {
    when: { user: 'hostile', tool_results: false },
    text: HOSTILE_TEXT,
    tool_calls: [{ name: 'shown.hostile', arguments: {} }],
  },
  { text: 'The ledger and the bank export differ by 12.40.' },
];

const AGENTS = {
  librarian: {
    model_alias: 'fast',
    tools: ['counting.*', 'shown.*'],
    stream: true,
    tool_call: { max_retries: 2, retry_backoff_ms: 300 },
    policies: { approvals: { 'counting.once': 'ask', '*': 'auto' } },
  },
  teller: { model_alias: 'slow', stream: true },
};

/** `pace`: pieces of text in a second of the agent `teller`. */
export async function openConsoleRuns({ pace = 60 }: { pace?: number } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-console-'));
  const file = join(folder, 'turns.json');
  await writeFile(file, JSON.stringify({ turns: TURNS }));
  const config: InstallationOptions['config'] = {
    mcpServers: {
      counting: ownServerEntry('counting.ts', { COUNTER_FILE: join(folder, 'calls') }),
      shown: { command: 'node', args: [resolve('test/support/servers/shown-peer.mjs')] },
    },
    providers: {
      script: { type: 'scripted', file, pace: 2_000 },
      slow: { type: 'scripted', file, pace },
    },
    models: { fast: ['script:m'], slow: ['slow:m'] },
    agents: AGENTS,
    worker: { lease_ms: 2_000, drain_ms: 0 },
    telemetry: { trace_url: 'http://jaeger.example/trace/{trace_id}' },
  };
  const installation = await install({ config });
  return {
    ...installation,
    async run(url: string, agent: string, query: string): Promise<string> {
      const { status, body } = await post<{ request_id: string }>(`${url}/v1/requests`, { agent, query });
      if (status !== 202) throw new Error(JSON.stringify(body));
      return body.request_id;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await installation[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
