/** `adjutant call`: one tool call, its progress while it runs, its answer at the end.
 *  It must never start the call twice. */
import type { SubmittedDirective } from '../../contract/directive.ts';
import { isTerminalSignal, type TerminalSignal } from '../../contract/signal.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import { tellFailure } from '../failure-lines.ts';
import type { Invocation } from '../invocation.ts';
import { createLiveLine } from '../live-line.ts';
import { objectArgument } from '../object-argument.ts';
import { payloadText } from '../payload-text.ts';
import { callIdOf } from '../signal-line.ts';

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

export async function call(
  invocation: Invocation,
  tool: string,
  argumentText: string | undefined,
  options: CallOptions,
): Promise<ExitCode> {
  const { client, terminal, json, interrupt } = invocation;
  const directive = directiveOf(
    tool,
    argumentText === undefined ? {} : objectArgument(argumentText),
    options,
  );
  const submission = await client.submit(directive, { signal: interrupt });
  const id = submission.directives[0]?.id ?? '';
  const line = json ? null : createLiveLine(terminal, tool, 'queued');
  try {
    for await (const signal of client.signals(submission.request_id, { signal: interrupt })) {
      if (callIdOf(signal) !== id) continue;
      if (isTerminalSignal(signal)) return answer(signal, invocation);
      line?.show(signal);
    }
  } finally {
    line?.end();
  }
  if (!interrupt.aborted)
    throw new Error(`Request ${submission.request_id} was closed without a result of ${id}.`);
  throw new CliFailure({
    what: 'Interrupted; the call goes on.',
    how: `Its result: adjutant get ${submission.request_id} ${id}`,
    exitCode: EXIT.interrupted,
  });
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
  tellFailure(terminal, result.error);
  return EXIT.failed;
}
