/** `adjutant directive-server`: serves the `directive/*` tools over a folder, without Redis or configuration.
 *  It must never print to stdout while a client reads there. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { CliFailure, EXIT, type ExitCode, usage } from '../failure.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { Option } from 'commander';
import { wholeNumber } from '../options/option-values.ts';
import type { CommandLine, LocalInvocation } from '../invocation.ts';

interface ServerOptions {
  /** The folder that holds directive/, or a folder of that name. */
  readonly root: string;
  readonly names: 'exact' | 'portable';
  /** Whether each call is a line on stderr. */
  readonly log: boolean;
  /** Absent: over stdin and stdout. */
  readonly http?: number;
  readonly host: string;
  readonly allowHost: readonly string[];
}

type Http = Parameters<typeof import('../../servers/directive/http-listener.ts').listenDirectiveHttp>[1];
type Served = Parameters<typeof import('../../servers/directive/stdio.ts').serveDirectiveStdio>[0];

const LOG_VARIABLE = 'ADJUTANT_DIRECTIVE_LOG';

export function addDirectiveServer({ program, local }: CommandLine): void {
  program
    .command('directive-server')
    .description('serve a directive/ folder to agents: an MCP server with five tools, read-only')
    .option('--root <folder>', 'the folder that holds directive/; default: this folder', '.')
    .addOption(
      new Option('--names <style>', 'portable: tool names without / and ., for hosts that refuse them')
        .choices(['exact', 'portable'])
        .default('exact'),
    )
    .option('--log', `a line on stderr for each call, without content; also ${LOG_VARIABLE}=1`, false)
    .option(
      '--http <port>',
      'over Streamable HTTP instead of stdin and stdout; 0 = any free port',
      wholeNumber,
    )
    .option('--host <host>', 'with --http: where it listens; default: 127.0.0.1', '127.0.0.1')
    .option('--allow-host <names...>', 'with --http: more names under which clients reach it', [])
    .action(async (given: ServerOptions) => local(async (place) => directiveServer(place, given)));
}

/** Resolves when the client has closed the input, or on an interrupt. */
async function directiveServer(
  { terminal, interrupt: stop, version, environment }: LocalInvocation,
  { root, names, log: isLogged, http: port, host, allowHost: allowedHosts }: ServerOptions,
): Promise<ExitCode> {
  const log = isLogged || isOn(environment[LOG_VARIABLE]);
  if (!existsSync(root)) {
    const how = 'Name the folder that holds directive/, or leave --root out in that folder.';
    throw usage(`--root names a folder that does not exist: ${oneLine(root, 200)}`, how);
  }
  const [{ createDirectiveFolder }, { reportLine }] = await Promise.all([
    import('../../servers/directive/directive-folder.ts'),
    import('../../servers/directive/call-report.ts'),
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
    if (port === undefined) await serveStreams(terminal, stop, served);
    else await listen(terminal, stop, served, { port, host, allowedHosts });
  } finally {
    await Promise.all([spans?.close(), metrics?.close()]);
  }
  return EXIT.done;
}

const COLLECTOR = 'OTEL_EXPORTER_OTLP_ENDPOINT';

function hasOneOf(environment: LocalInvocation['environment'], ...names: readonly string[]): boolean {
  return names.some((name) => (environment[name] ?? '') !== '');
}

/** Spans of calls; null: no collector is configured, and nothing is loaded. */
async function callSpans(version: string, environment: LocalInvocation['environment']) {
  if (!hasOneOf(environment, COLLECTOR, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')) return null;
  const [{ telemetryOfVariables }, { openCallSpans }] = await Promise.all([
    import('../../config/telemetry.ts'),
    import('../../servers/directive/call-spans.ts'),
  ]);
  const { tracing } = telemetryOfVariables(environment);
  const serviceName = environment['OTEL_SERVICE_NAME'] ?? 'directive-server';
  return tracing === null ? null : openCallSpans({ ...tracing, serviceName, version });
}

/** null: as of spans. */
async function callMetrics(version: string, environment: LocalInvocation['environment']) {
  if (!hasOneOf(environment, COLLECTOR, 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT')) return null;
  const [{ metricsOfVariables }, { openCallMetrics }] = await Promise.all([
    import('../../config/metrics.ts'),
    import('../../servers/directive/call-metrics.ts'),
  ]);
  const { isOn, otlp } = metricsOfVariables(environment);
  const serviceName = environment['OTEL_SERVICE_NAME'] ?? 'directive-server';
  return isOn && otlp !== null ? openCallMetrics({ ...otlp, serviceName, version }) : null;
}

async function serveStreams(terminal: Terminal, stop: AbortSignal, served: Served): Promise<void> {
  const { serveDirectiveStdio } = await import('../../servers/directive/stdio.ts');
  if (process.stdin.isTTY)
    terminal.err('This speaks MCP on stdin and stdout; an MCP client starts it. Ctrl-C ends it.');
  await serveDirectiveStdio(served, { input: process.stdin, output: process.stdout }, stop);
}

async function listen(terminal: Terminal, stop: AbortSignal, served: Served, http: Http): Promise<void> {
  const { listenDirectiveHttp } = await import('../../servers/directive/http-listener.ts');
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

function isOn(value: string | undefined): boolean {
  return /^(1|true|yes|on)$/i.test(value ?? '');
}
