/** The whole service for the demo: `adjutant up` with four MCP servers, on a free port, in its own folder.
 *  It must never touch an existing Redis or service. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, spawnNode } from '../../test/support/process.ts';
import { writeStarter } from '../../src/servers/directive/starter.ts';
import type { DemoModel } from './model.ts';

export interface DemoService {
  readonly url: string;
  /** How often the flaky server was called for a report, by its own count. */
  callsOf(report: string): Promise<number>;
  stop(): Promise<void>;
}

/** Only tools that change nothing: the model may be a real one. */
const AGENTS = {
  demo: {
    description: 'Reads and adds',
    model_alias: 'demo',
    tools: ['everything.get-sum', 'filesystem.list_directory', 'filesystem.read_text_file'],
  },
};

export async function startService(model: DemoModel): Promise<DemoService> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-demo-'));
  const countFile = join(folder, 'flaky-calls.txt');
  const config = join(folder, 'adjutant.json');
  await writeFile(
    config,
    JSON.stringify({ mcpServers: serversOf(folder, countFile), ...model.config, agents: AGENTS }),
  );
  await writeFile(countFile, '');
  await writeStarter(folder);
  const port = await freePort();
  const args = [resolve('src/cli/main.ts'), 'up', '--config', config, '--port', String(port)];
  const child = spawnNode(args, { cwd: folder, env: { REDIS_URL: undefined } });
  const stop = async (): Promise<void> => {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await child.waitForLine(/listens on/);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    callsOf: async (report) =>
      (await readFile(countFile, 'utf8')).split('\n').filter((line) => line === report).length,
    stop,
  };
}

/** Paths are absolute, because the service runs in the folder of its private Redis. */
function serversOf(folder: string, countFile: string) {
  const server = (script: string, ...args: string[]) => ({
    command: process.execPath,
    args: [resolve(script), ...args],
  });
  const published = 'node_modules/@modelcontextprotocol';
  return {
    everything: server(`${published}/server-everything/dist/index.js`, 'stdio'),
    filesystem: server(`${published}/server-filesystem/dist/index.js`, resolve('examples')),
    flaky: server('examples/servers/flaky.ts', countFile),
    directive: server('src/cli/main.ts', 'directive-server', '--root', folder),
  };
}
