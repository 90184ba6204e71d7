/** Serves the tools on standard input and output until the input ends.
 *  It must never write anything else to the output. */
import type { Readable, Writable } from 'node:stream';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createDirectiveServer, type DirectiveServerOptions, nameUnknownMethods } from './server.ts';
import { createStdioTransport } from './stdio-transport.ts';

export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Resolves when the input has ended and every call is answered, or when `stop` aborts. */
export async function serveDirectiveStdio(
  options: DirectiveServerOptions,
  { input, output }: Streams,
  stop: AbortSignal,
): Promise<void> {
  const transport = createStdioTransport(input, output);
  serveStdio(() => nameUnknownMethods(createDirectiveServer(options)), { transport });
  const close = (): void => void transport.close();
  if (stop.aborted) close();
  stop.addEventListener('abort', close, { once: true });
  await transport.ended;
  stop.removeEventListener('abort', close);
}
