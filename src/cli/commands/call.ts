/** `adjutant call`: one tool call, its progress while it runs, its answer at the end.
 *  It must never start the call twice. */
import type { SubmittedDirective } from '../../contract/directive.ts';
import { isTerminalSignal, type Signal, type TerminalSignal } from '../../contract/signal.ts';
import { CliFailure, EXIT, type ExitCode, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { payloadText } from '../payload-text.ts';
import { callIdOf, errorText, progressText, retryText } from '../signal-line.ts';
import { oneLine, type Terminal } from '../terminal.ts';

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly deadlineMs?: number;
  readonly maxRetries?: number;
  readonly retryBackoffMs?: number;
  readonly backoff?: 'fixed' | 'exponential';
  readonly effect?: 'read' | 'idempotent' | 'once';
  readonly server?: string;
  readonly id?: string;
  readonly request?: string;
}

const REFRESH_MS = 100;

export async function call(
  invocation: Invocation,
  tool: string,
  argumentText: string | undefined,
  options: CallOptions,
): Promise<ExitCode> {
  const { client, terminal, json, interrupt } = invocation;
  const directive = directiveOf(tool, readArguments(argumentText), options);
  const submission = await client.submit(directive, { signal: interrupt });
  const id = submission.directives[0]?.id ?? '';
  const show = json ? () => {} : liveLine(terminal, tool);
  try {
    for await (const signal of client.signals(submission.request_id, { signal: interrupt })) {
      if (callIdOf(signal) !== id) continue;
      if (isTerminalSignal(signal)) return answer(signal, invocation);
      show(signal);
    }
  } finally {
    terminal.status('');
    show(null);
  }
  if (!interrupt.aborted)
    throw new Error(`Request ${submission.request_id} was closed without a result of ${id}.`);
  throw new CliFailure({
    what: 'Interrupted; the call goes on.',
    how: `Its result: adjutant get ${submission.request_id} ${id}`,
    exitCode: EXIT.interrupted,
  });
}

function readArguments(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  const how = `Quote it for the shell, as in: adjutant call server.tool '{"a": 1}'`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usage(`The arguments are not JSON: ${(error as Error).message}`, how);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw usage('The arguments are not a JSON object.', how);
}

function directiveOf(tool: string, args: Record<string, unknown>, options: CallOptions): SubmittedDirective {
  const named = {
    request_id: options.request,
    id: options.id,
    timeout_ms: options.timeoutMs,
    deadline_ms: options.deadlineMs,
    max_retries: options.maxRetries,
    retry_backoff_ms: options.retryBackoffMs,
    backoff: options.backoff,
    effect: options.effect,
    server: options.server,
  };
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  return { type: 'tool_exec', tool_name: tool, arguments: args, ...given };
}

/** What is going on: one line that changes on a terminal, a line for each event elsewhere. `null` ends it. */
function liveLine(terminal: Terminal, tool: string): (signal: Signal | null) => void {
  const startedAt = performance.now();
  let state = 'queued';
  const draw = (): void => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    terminal.status(
      `${terminal.paintErr('cyan', '›')} ${oneLine(tool, 60)} ${terminal.paintErr('dim', `${seconds} s`)} ${state}`,
    );
  };
  const timer = terminal.live ? setInterval(draw, REFRESH_MS) : undefined;
  return (signal) => {
    if (signal === null) return clearInterval(timer);
    state = stateAfter(signal) ?? state;
    if (terminal.live) draw();
    else terminal.err(`${oneLine(tool, 60)} ${state}`);
  };
}

function stateAfter(signal: Signal): string | null {
  if (signal.type === 'ai.tool.started') return 'running';
  if (signal.type === 'ai.tool.progress') return progressText(signal.data);
  if (signal.type === 'directive.retry_scheduled') return retryText(signal.data);
  return null;
}

function answer(signal: TerminalSignal, { terminal, json }: Invocation): ExitCode {
  if (signal.type === 'ai.request.error') throw new Error(signal.data.message);
  const { result } = signal.data;
  if (json) {
    terminal.out(JSON.stringify(result));
    return result.ok ? EXIT.done : EXIT.failed;
  }
  if (result.ok) {
    terminal.out(payloadText(result.payload));
    return EXIT.done;
  }
  terminal.err(`${terminal.paintErr('red', 'failed')} ${errorText(result.error)}`);
  for (const line of detailLines(result.error.details)) terminal.err(`       ${line}`);
  return EXIT.failed;
}

/** The places that were wrong, each on its line; other details as JSON. */
function detailLines(details: Record<string, unknown>): string[] {
  const { errors, ...others } = details;
  const places = (Array.isArray(errors) ? errors : []).map((error: unknown) => {
    const { path, message } = error as { path?: unknown; message?: unknown };
    return oneLine(`${String(path)}: ${String(message)}`, 500);
  });
  return Object.keys(others).length === 0 ? places : [...places, oneLine(JSON.stringify(others), 1_000)];
}
