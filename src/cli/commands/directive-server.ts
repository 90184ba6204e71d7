/** `adjutant directive-server`: serves the `directive/*` tools over a folder, without Redis or configuration.
 *  It must never print to stdout while a client reads there. */
import { EXIT, type ExitCode } from '../failure.ts';
import type { Terminal } from '../terminal.ts';

export interface DirectiveServerOptions {
  /** The folder that holds directive/, or a folder of that name. Default: this folder. */
  readonly root: string;
  readonly names: 'exact' | 'portable';
  /** Whether each call is a line on stderr. */
  readonly log: boolean;
  readonly version: string;
}

/** Resolves when the client has closed the input, or `stop` aborts. */
export async function directiveServer(
  terminal: Terminal,
  stop: AbortSignal,
  { root, names, log, version }: DirectiveServerOptions,
): Promise<ExitCode> {
  const [{ serveDirectiveStdio }, { createDirectiveFolder }, { reportLine }] = await Promise.all([
    import('../../directive-server/stdio.ts'),
    import('../../directive-server/directive-folder.ts'),
    import('../../directive-server/call-report.ts'),
  ]);
  if (process.stdin.isTTY)
    terminal.err('This speaks MCP on stdin and stdout; an MCP client starts it. Ctrl-C ends it.');
  const onCall = (report: Parameters<typeof reportLine>[0]): void => {
    if (log) terminal.err(reportLine(report));
  };
  const folder = createDirectiveFolder(root);
  const streams = { input: process.stdin, output: process.stdout };
  await serveDirectiveStdio({ folder, version, names, onCall }, streams, stop);
  return EXIT.done;
}
