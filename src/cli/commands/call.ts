/** `adjutant call`: one tool call, with its progress and its answer.
 *  It must never start the call twice. */
import { ADJUTANT } from '../command-name.ts';
import type { SubmittedDirective } from '../../contract/directive/directive.ts';
import type { OnceAnswer } from '../../contract/directive/once.ts';
import type { Submission } from '../../contract/directive/submission.ts';
import { isTerminalSignal, type TerminalSignal } from '../../contract/signal/signal.ts';
import {
  addEndOption,
  addFlowOptions,
  addLaterOptions,
  addOnceOptions,
  beginsInWords,
  encryptingWhere,
  endFieldsOf,
  type EndOptions,
  type FlowOptions,
  flowOptionsOf,
  isOthers,
  laterFieldsOf,
  type LaterOptions,
  onceFieldsOf,
  onceInWords,
  type OnceOptions,
} from '../options/submission-options.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import { printFailure } from '../failure-lines.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { createLiveLine } from '../following/live-line.ts';
import { objectArgument, wholeNumber } from '../options/option-values.ts';
import { type CancelOnInterrupt, cancelOnInterrupt, orUnread } from '../cancel-on-interrupt.ts';
import { createPrompts, promptFor } from '../following/prompts.ts';
import { callIdOf } from '../following/signal-lines.ts';
import { oneLine } from '../terminal.ts';
import { printPayload } from './payload.ts';
import { Option } from 'commander';

export interface CallOptions extends LaterOptions, FlowOptions, OnceOptions, EndOptions {
  readonly timeoutMs?: number;
  readonly deadlineMs?: number;
  readonly maxRetries?: number;
  readonly retryBackoffMs?: number;
  readonly backoff?: 'fixed' | 'exponential';
  readonly effect?: 'read' | 'idempotent' | 'once';
  readonly server?: string;
  readonly id?: string;
  readonly request?: string;
  readonly encrypt?: boolean;
}

export function addCall({ program, withClient }: CommandLine): void {
  const command = program
    .command('call <tool> [json]')
    .description('call a tool (server.tool) with a JSON object, and print its answer')
    .option(
      '--timeout-ms <ms>',
      'limit of one attempt; default: 30000, or as the lane is configured',
      wholeNumber,
    )
    .option('--deadline-ms <ms>', 'limit of everything; default: 900000', wholeNumber)
    .option('--max-retries <n>', 'attempts after a failed first one; default: 0', wholeNumber)
    .option('--retry-backoff-ms <ms>', 'wait before a retry; default: 0', wholeNumber)
    .addOption(
      new Option('--backoff <kind>', 'how the wait grows; default: fixed').choices(['fixed', 'exponential']),
    )
    .addOption(
      new Option(
        '--effect <effect>',
        'whether it may be repeated when its worker dies; default: as the tool declares',
      ).choices(['read', 'idempotent', 'once']),
    )
    .option('--server <name>', 'the MCP server, when the tool name has none')
    .option('--request <id>', 'the request it belongs to; default: a new one')
    .option('--id <id>', 'its id; default: a new one')
    .option('--encrypt', 'encrypt the arguments with the first key of ADJUTANT_ENCRYPTION_KEYS');
  addEndOption(addOnceOptions(addFlowOptions(addLaterOptions(command)))).action(
    async (tool: string, json: string | undefined, given: CallOptions) =>
      withClient(async (invocation) => call(invocation, tool, json, given)),
  );
}

export async function call(
  given: Invocation,
  tool: string,
  argumentText: string | undefined,
  options: CallOptions,
): Promise<ExitCode> {
  const invocation = encryptingWhere(given, options);
  const directive = directiveOf(
    tool,
    argumentText === undefined ? {} : objectArgument(argumentText),
    options,
  );
  using cancellation = cancelOnInterrupt(invocation);
  const submission = await invocation.client.submit(directive, { signal: cancellation.giveUp });
  const [{ id, once } = { id: '', once: undefined }] = submission.directives;
  if (options.debounce !== undefined)
    return printLater(invocation, submission, `at ${once?.until}, if nothing else comes`, options.debounce);
  const begins = beginsInWords(options);
  if (begins !== null) return printLater(invocation, submission, begins);
  const place = { requestId: submission.request_id, id };
  const stands = onceInWords(once, nameOf(place));
  if (stands !== null) invocation.terminal.err(stands);
  return await answerTo(invocation, { tool, place, isOthers: isOthers(once) }, cancellation);
}

interface Called {
  readonly tool: string;
  readonly place: Place;
  /** Others wait for it as well. */
  readonly isOthers: boolean;
}

async function answerTo(
  invocation: Invocation,
  { tool, place, isOthers: isTheirs }: Called,
  cancellation: CancelOnInterrupt,
): Promise<ExitCode> {
  const { interrupt } = invocation;
  const { requestId, id } = place;
  if (!isTheirs) cancellation.watch(requestId, id);
  const giveUp = isTheirs ? interrupt : cancellation.giveUp;
  const code = await orUnread(async () => follow(invocation, tool, place, giveUp), place);
  if (code !== null) return code;
  if (!interrupt.aborted) throw new Error(`Request ${requestId} was closed without a result of ${id}.`);
  const how = `See its state: ${ADJUTANT} get ${requestId} ${id}`;
  if (!isTheirs) throw cancellation.unconfirmed(how);
  throw new CliFailure({
    what: 'Interrupted; the call goes on for others.',
    how,
    exitCode: EXIT.interrupted,
  });
}

const nameOf = ({ requestId, id }: Place): string => `${requestId}/${id}`;

/** Prints the ids instead of waiting for a delayed answer. */
function printLater(
  { terminal, json }: Invocation,
  submission: Submission,
  begins: string,
  key?: string,
): ExitCode {
  const { request_id: requestId, directives } = submission;
  const [{ id, status, once } = { id: '', status: 'accepted', once: undefined }] = directives;
  const theirs = isOthers(once) ? onceInWords(once, `${requestId}/${id}`) : null;
  if (json) terminal.out(JSON.stringify(submission));
  else if (theirs !== null) terminal.out(theirs);
  else if (status === 'existing' && once === undefined)
    terminal.out(`existing ${requestId}/${id}, begins as accepted before`);
  else terminal.out(`${onceWord(once, status)} ${requestId}/${id}${underKey(key)}, begins ${begins}`);
  terminal.err(`follow it: ${ADJUTANT} tail ${requestId}`);
  if (theirs === null) terminal.err(`cancel it: ${ADJUTANT} cancel ${requestId} ${id}`);
  return EXIT.done;
}

/** Its content took the place of the one before. */
function onceWord(once: OnceAnswer | undefined, status: string): string {
  return once?.outcome === 'debounced' ? once.outcome : status;
}

function underKey(key: string | undefined): string {
  return key === undefined ? '' : ` under the key ${oneLine(key, 256)}`;
}

interface Place {
  readonly requestId: string;
  readonly id: string;
}

/** Shows the call until it ends; null when its end did not arrive. */
async function follow(
  invocation: Invocation,
  tool: string,
  place: Place,
  giveUp: AbortSignal,
): Promise<ExitCode | null> {
  const { client, terminal, json } = invocation;
  const line = json ? null : createLiveLine(terminal, tool, 'queued');
  const prompts = createPrompts(invocation, (asking) => line?.quiet(asking));
  try {
    for await (const signal of client.signals(place.requestId, { signal: giveUp })) {
      if (callIdOf(signal) !== place.id) continue;
      promptFor(signal, invocation, place.requestId, prompts);
      if (!isTerminalSignal(signal)) line?.show(signal);
      else return await answer(signal, invocation, place, () => line?.end());
    }
    return null;
  } finally {
    prompts.close();
    line?.end();
  }
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
  const when = {
    ...laterFieldsOf(options),
    ...flowOptionsOf(options),
    ...onceFieldsOf(options),
    ...endFieldsOf(options),
  };
  return { type: 'tool_exec', tool_name: tool, arguments: args, ...given, ...when };
}

async function answer(
  signal: TerminalSignal,
  { client, terminal, json, interrupt }: Invocation,
  { requestId, id }: Place,
  endLine: () => void,
): Promise<ExitCode> {
  if (signal.type === 'ai.request.error') throw new Error(signal.data.message);
  const { result, metadata } = signal.data;
  const size = metadata['result_truncated_bytes'];
  // A terminal shows the beginning; files and programs get the whole.
  const isCut = result.ok && typeof size === 'number';
  const whole =
    isCut && !terminal.liveOut ? { ...result, payload: await client.payload(requestId, id) } : result;
  endLine();
  if (json) terminal.out(JSON.stringify(whole));
  else if (whole.ok) printPayload(terminal, whole.payload);
  else printFailure(terminal, whole.error, { requestId, id });
  if (isCut && terminal.liveOut)
    terminal.err(
      `This is the beginning of ${size} bytes. Get all with: ${ADJUTANT} payload ${requestId} ${id}`,
    );
  if (whole.ok) return EXIT.done;
  return interrupt.aborted ? EXIT.interrupted : EXIT.failed;
}
