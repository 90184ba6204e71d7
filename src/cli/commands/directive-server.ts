/** `adjutant directive-server`: serves the `directive/*` tools over a folder, without Redis or configuration.
 *  It must never print to stdout while a client reads there. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { CliFailure, EXIT, type ExitCode, usage } from '../failure.ts';
import { oneLine, type Terminal } from '../terminal.ts';

export interface DirectiveServerOptions {
  /** The folder that holds directive/, or a folder of that name. Default: this folder. */
  readonly root: string;
  readonly names: 'exact' | 'portable';
  /** Whether each call is a line on stderr. */
  readonly log: boolean;
  /** null: over stdin and stdout. */
  readonly http: Http | null;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Http = Parameters<typeof import('../../directive-server/http-listener.ts').listenDirectiveHttp>[1];
type Served = Parameters<typeof import('../../directive-server/stdio.ts').serveDirectiveStdio>[0];

/** Resolves when the client has closed the input, or `stop` aborts. */
export async function directiveServer(
  terminal: Terminal,
  stop: AbortSignal,
  { root, names, log, http, version, environment }: DirectiveServerOptions,
): Promise<ExitCode> {
  if (!existsSync(root)) {
    const how = 'Name the folder that holds directive/, or leave --root out in that folder.';
    throw usage(`--root names a folder that does not exist: ${oneLine(root, 200)}`, how);
  }
  const [{ createDirectiveFolder }, { reportLine }] = await Promise.all([
    import('../../directive-server/directive-folder.ts'),
    import('../../directive-server/call-report.ts'),
  ]);
  const [spans, metrics] = await Promise.all([
    callSpans(version, environment),
    callMetrics(version, environment),
  ]);
  const onCall: Served['onCall'] = (report) => {
    if (log) terminal.err(reportLine(report));
    spans?.onCall(report);
    metrics?.onCall(report);
  };
  const served = { folder: createDirectiveFolder(root), version, names, onCall };
  try {
    if (http === null) await serveStreams(terminal, stop, served);
    else await listen(terminal, stop, served, http);
  } finally {
    await Promise.all([spans?.close(), metrics?.close()]);
  }
  return EXIT.done;
}

const COLLECTOR = 'OTEL_EXPORTER_OTLP_ENDPOINT';

function hasOneOf(environment: DirectiveServerOptions['environment'], ...names: readonly string[]): boolean {
  return names.some((name) => (environment[name] ?? '') !== '');
}

/** null: nobody collects, and nothing of it is loaded. */
async function callSpans(version: string, environment: DirectiveServerOptions['environment']) {
  if (!hasOneOf(environment, COLLECTOR, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')) return null;
  const [{ telemetryOfVariables }, { openCallSpans }] = await Promise.all([
    import('../../config/telemetry.ts'),
    import('../../directive-server/call-spans.ts'),
  ]);
  const { tracing } = telemetryOfVariables(environment);
  const serviceName = environment['OTEL_SERVICE_NAME'] ?? 'directive-server';
  return tracing === null ? null : openCallSpans({ ...tracing, serviceName, version });
}

/** null: as of spans. */
async function callMetrics(version: string, environment: DirectiveServerOptions['environment']) {
  if (!hasOneOf(environment, COLLECTOR, 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT')) return null;
  const [{ metricsOfVariables }, { openCallMetrics }] = await Promise.all([
    import('../../config/metrics.ts'),
    import('../../directive-server/call-metrics.ts'),
  ]);
  const { isOn, otlp } = metricsOfVariables(environment);
  const serviceName = environment['OTEL_SERVICE_NAME'] ?? 'directive-server';
  return isOn && otlp !== null ? openCallMetrics({ ...otlp, serviceName, version }) : null;
}

async function serveStreams(terminal: Terminal, stop: AbortSignal, served: Served): Promise<void> {
  const { serveDirectiveStdio } = await import('../../directive-server/stdio.ts');
  if (process.stdin.isTTY)
    terminal.err('This speaks MCP on stdin and stdout; an MCP client starts it. Ctrl-C ends it.');
  await serveDirectiveStdio(served, { input: process.stdin, output: process.stdout }, stop);
}

async function listen(terminal: Terminal, stop: AbortSignal, served: Served, http: Http): Promise<void> {
  const { listenDirectiveHttp } = await import('../../directive-server/http-listener.ts');
  const listener = await listenDirectiveHttp(served, http).catch((error: Error) => {
    throw new CliFailure({
      what: `It cannot listen on ${http.host}, port ${http.port}: ${error.message}`,
      how: 'Choose another port; --http 0 takes a free one.',
    });
  });
  terminal.out(`directive-server listens on ${listener.url}`);
  if (!stop.aborted) await once(stop, 'abort');
  await listener.close();
}
