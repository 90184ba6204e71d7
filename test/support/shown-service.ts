/** A service with something to show at the console: tools that differ, an agent that asks before it sends mail, failures.
 *  It must never need a network or a key. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type RunningService, startService } from './running-service.ts';

const mcpServers = {
  mail: { command: 'node', args: [resolve('test/support/servers/shown-peer.mjs')] },
};

const MAIL = { to: 'ops@example.org', subject: 'October ledger' };
const TURNS = [
  { when: { user: 'mail', tool_results: true }, text: 'The mail is out: {{mail.send}}' },
  {
    when: { user: 'mail' },
    thinking: 'A mail is asked for.',
    text: 'I send the ledger to the people on call.',
    tool_calls: [{ name: 'mail.send', arguments: MAIL }],
  },
  { text: 'I can send mail: ask me to.' },
];

const agents = {
  clerk: {
    description: 'Sends mail, and asks before each one',
    model_alias: 'scripted',
    tools: ['mail.*'],
    policies: { approvals: { 'mail.send': 'ask' } },
  },
};

/** `api`: its address and the prefix of its keys. */
export async function startShownService(redisUrl: string): Promise<RunningService> {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-shown-'));
  const file = join(folder, 'turns.json');
  writeFileSync(file, JSON.stringify({ turns: TURNS }));
  const config = {
    mcpServers,
    agents,
    providers: { scripted: { type: 'scripted', file } },
    models: { scripted: 'scripted:any' },
  };
  const service = await startService({ redisUrl, config });
  const stop = async (): Promise<void> => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...service, stop, [Symbol.asyncDispose]: stop };
}
