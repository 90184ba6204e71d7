/** The MCP server on standard input and output, for hosts that only start programs.
 *  It must never write anything else to the output. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { announceChanges } from './server.ts';
import { createToolServers, type ToolServersOptions } from './tool-servers.ts';

export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** Resolves when the host has closed the input, or when `stop` aborts. Calls that have not ended go on. */
export async function serveToolsStdio(
  options: ToolServersOptions,
  { input, output }: Streams,
  stop: AbortSignal,
): Promise<void> {
  const servers = createToolServers(options);
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES });
  const handle = serveStdio(async (context) => announceChanges(await servers.create(context), servers), {
    transport,
    onerror: options.onError,
  });
  await once(input, 'close', { signal: stop }).catch(() => {});
  servers.stop();
  await handle.close();
}
