/** A service with something to look at: calls, runs, failures, an approval, a server that is away.
 *  It must use what a user has: the command, real servers, and no model. */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { cliFolder, startCli } from './cli.ts';

export interface ConsoleScene extends AsyncDisposable {
  readonly url: string;
  readonly client: DirectiveClient;
  /** A run that waits for an approval. */
  readonly waiting: string;
  /** A run that has ended. */
  readonly ended: string;
  /** A call that has failed. */
  readonly failed: string;
}

const QUESTION = 'What is 17*23, and which files are in the examples folder?';
const server = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [resolve(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
});

const CONFIGURATION = {
  mcpServers: {
    everything: server('everything', 'stdio'),
    filesystem: server('filesystem', resolve('examples')),
    mail: { command: process.execPath, args: ['-e', 'process.exit(1)'] },
  },
  providers: { scripted: { type: 'scripted' } },
  models: { fast: ['scripted:demonstration'] },
};

export async function startScene(): Promise<ConsoleScene> {
  const home = await cliFolder({ 'adjutant.json': CONFIGURATION });
  const up = startCli(['up', '--port', '0'], { cwd: home });
  const url = await up.said(/http:\/\/127\.0\.0\.1:\d+/);
  const client = createHttpClient({ baseUrl: url });
  const requests = await play(client);
  return {
    url,
    client,
    ...requests,
    async [Symbol.asyncDispose]() {
      await client.close();
      up.child.kill('SIGTERM');
      await up.ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function play(client: DirectiveClient): Promise<Pick<ConsoleScene, 'waiting' | 'ended' | 'failed'>> {
  const agent = { agent: 'default', query: QUESTION };
  const { request_id: ended } = await client.runs.start({ ...agent, request_id: 'example-files' });
  for (const [place, message] of ['ship it', 'the invoice of October', 'good morning'].entries())
    await call(client, `echo-${place}`, 'everything.echo', { message });
  for (const [place, [a, b]] of [
    [2, 3],
    [340, 51],
    [19, 23],
  ].entries())
    // prettier-ignore
    await call(client, `sum-${place}`, 'everything.get-sum', { a, b });
  for (const path of ['missing.md', '../outside.md'])
    await call(client, `read-${path.replaceAll(/\W/g, '')}`, 'filesystem.read_text_file', { path });
  await call(client, 'pack-ledger', 'everything.gzip-file-as-resource', {
    name: 'ledger.gz',
    data: 'ftp://files.example.org/ledger.csv',
    outputType: 'resource',
  });
  await client.submit([
    {
      request_id: 'mail-october',
      type: 'tool_exec',
      tool_name: 'mail.send',
      arguments: { to: 'ops@example.org' },
      max_retries: 3,
    },
  ]);
  await settled(client, ended);
  const { request_id: waiting } = await client.runs.start({
    ...agent,
    request_id: 'careful-sum',
    overrides: { approvals: { 'everything.get-sum': 'ask' } },
  });
  for await (const { type } of client.signals(waiting)) if (type === 'ai.tool.approval_requested') break;
  return { waiting, ended, failed: 'read-missingmd' };
}

async function call(
  client: DirectiveClient,
  id: string,
  tool: string,
  args: Record<string, unknown>,
): Promise<void> {
  await client.submit([
    { request_id: id, type: 'tool_exec', tool_name: tool, arguments: args, max_retries: 0 },
  ]);
  await settled(client, id);
}

async function settled(client: DirectiveClient, requestId: string): Promise<void> {
  for await (const _ of client.signals(requestId));
}
