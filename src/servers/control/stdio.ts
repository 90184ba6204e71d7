/** The control tools on standard input and output, until the input ends.
 *  It must never write anything else to the output. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { jsonLines } from '../../platform/bounds/json-line.ts';
import { type ControlServerOptions, createControlServer } from './server.ts';

export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** Resolves when the client has closed the input, or when `stop` aborts. */
export async function serveControlStdio(
  options: ControlServerOptions,
  { input, output }: Streams,
  stop: AbortSignal,
): Promise<void> {
  const transport = new StdioServerTransport(input, jsonLines(output), { maxBufferSize: MAX_MESSAGE_BYTES });
  const handle = serveStdio(() => createControlServer(options), { transport });
  await once(input, 'close', { signal: stop }).catch(() => {});
  await handle.close();
}
