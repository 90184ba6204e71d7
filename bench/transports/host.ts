/** An MCP host: the SDK's own client, which starts the no-op server itself or calls it through Adjutant.
 *  It must be the same client on every way, and wait until the tool is listed. */
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openHost, type ServerPlace } from '../../test/support/mcp-clients.ts';
import type { Target, Transport } from '../transport.ts';

const SERVER = fileURLToPath(new URL('../noop-server-process.ts', import.meta.url));
const AGAIN_MS = 50;

/** Over stdio. */
export const NOOP_SERVER = program([SERVER]);

export async function openHostDirect(): Promise<Transport> {
  return hostAt(NOOP_SERVER, 'noop');
}

export async function openHostHttp({ baseUrl }: Target): Promise<Transport> {
  await untilListed(baseUrl);
  return hostAt(`${baseUrl}/mcp`, 'noop__noop');
}

export async function openHostStdio({ baseUrl }: Target): Promise<Transport> {
  await untilListed(baseUrl);
  const args = ['--conditions=adjutant-source', resolve('src/cli/main.ts'), 'mcp'];
  return hostAt(program(args, { ADJUTANT_URL: baseUrl }), 'noop__noop');
}

function program(args: string[], env: Readonly<Record<string, string>> = {}): ServerPlace {
  const { PATH = '' } = process.env;
  return { command: process.execPath, args, env: { PATH, ...env } };
}

async function hostAt(place: ServerPlace, tool: string): Promise<Transport> {
  const host = await openHost('modern', place);
  return {
    operation: async () => {
      const { isError, content } = await host.call(tool);
      if (isError === true) throw new Error(JSON.stringify(content));
    },
    close: async () => host[Symbol.asyncDispose](),
  };
}

async function untilListed(baseUrl: string): Promise<void> {
  while (!(await (await fetch(`${baseUrl}/v1/tools`)).text()).includes('"noop.noop"')) await pause(AGAIN_MS);
}
