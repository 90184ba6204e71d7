/** `adjutant call`: one tool call, with its progress and its answer. Never starts the call twice. */
import { ADJUTANT } from '../command-name.ts';
import type { SubmittedDirective } from '../../contract/directive/directive.ts';
import type { OnceAnswer } from '../../contract/directive/once.ts';
import type { Submission } from '../../contract/directive/submission.ts';
import { isTerminalSignal, type TerminalSignal } from '../../contract/signal/signal.ts';
import {
  addEndOption,
  addFlowOptions,
  addFollowOptions,
  addLaterOptions,
  addOnceOptions,
  beginsInWords,
  encryptingWhere,
  endFieldsOf,
  type EndOptions,
  type FlowOptions,
  flowOptionsOf,
  type FollowOptions,
  isOthers,
  laterFieldsOf,
  type LaterOptions,
  onceFieldsOf,
  onceInWords,
  type OnceOptions,
  tagFieldsOf,
} from '../options/submission-options.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import { printFailure } from '../failure-lines.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { createLiveLine } from '../following/live-line.ts';
import { wholeNumber } from '../options/option-values.ts';
import { schemaOfTool, toolArguments } from '../options/tool-arguments.ts';
import { type FollowedWork, onInterrupt, type OnInterrupt, orUnread } from '../on-interrupt.ts';
import { openConsole } from '../browser.ts';
import { examples } from '../examples.ts';
import { createPrompts, promptFor } from '../following/prompts.ts';
import { callIdOf } from '../following/signal-lines.ts';
import { explainSilence } from '../following/silence.ts';
import { oneLine } from '../terminal.ts';
import { printPayload } from './payload.ts';
import { Option } from 'commander';

export interface CallOptions extends FollowOptions, LaterOptions, FlowOptions, OnceOptions, EndOptions {
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
    .command('call <tool> [arguments...]')
    .description(
      'call a tool (server.tool) with arguments key=value or one JSON object, and print its answer',
    )
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
        'whether the call may be repeated when its worker dies; default: as the tool declares',
      ).choices(['read', 'idempotent', 'once']),
    )
    .option('--server <name>', 'the MCP server, when the tool name has none')
    .option('--request <id>', 'the request it belongs to; default: a new one')
    .option('--id <id>', 'its id; default: a new one')
    .option('--encrypt', 'encrypt the arguments with the first key of ADJUTANT_ENCRYPTION_KEYS');
  addFollowOptions(command);
  addEndOption(addOnceOptions(addFlowOptions(addLaterOptions(command)))).action(
    async (tool: string, words: string[], given: CallOptions) =>
      withClient(async (invocation) => call(invocation, tool, words, given)),
  );
  examples(command, [
    'call everything.get-sum a=2 b=3',
    `call everything.get-sum '{"a": 2, "b": 3}' --json`,
    'call shop.refund order=1001 --detach --tag refund',
  ]);
}

export async function call(
  given: Invocation,
  tool: string,
  words: readonly string[],
  options: CallOptions,
): Promise<ExitCode> {
  const invocation = encryptingWhere(given, options);
  const { client, terminal } = invocation;
  const fullName = options.server === undefined ? tool : `${options.server}.${tool}`;
  const schema = await schemaOfTool(fullName, client);
  const directive = directiveOf(tool, toolArguments(words, schema), options);
  using interruption = onInterrupt(invocation);
  const submission = await client.submit(directive, { signal: interruption.giveUp });
  const { request_id: requestId, directives } = submission;
  const [{ id, once } = { id: '', once: undefined }] = directives;
  if (options.web === true) openConsole(terminal, invocation.baseUrl, requestId);
  if (options.debounce !== undefined)
    return printLater(invocation, submission, `begins at ${once?.until}, if nothing else comes`, options);
  const begins = beginsInWords(options);
  if (begins !== null) return printLater(invocation, submission, `begins ${begins}`, options);
  if (options.detach === true) return printLater(invocation, submission, null, options);
  const work = { requestId, id, isShared: isOthers(once) };
  const deduplicated = onceInWords(once, nameOf(work));
  if (deduplicated !== null) terminal.err(deduplicated);
  const code = await orUnread(async () => follow(invocation, tool, work, interruption), work);
  if (code === null) throw interruption.unended(work);
  return code;
}

/** A call that this command follows. */
interface Call extends FollowedWork {
  readonly id: string;
}

const nameOf = ({ requestId, id }: Call): string => `${requestId}/${id}`;

/** Prints the ids instead of waiting for the answer. `begins`: null: as soon as it can. */
function printLater(
  { terminal, json }: Invocation,
  submission: Submission,
  begins: string | null,
  { debounce: key }: CallOptions,
): ExitCode {
  const { request_id: requestId, directives } = submission;
  const [{ id, status, once } = { id: '', status: 'accepted', once: undefined }] = directives;
  const theirs = isOthers(once) ? onceInWords(once, `${requestId}/${id}`) : null;
  const begin = begins === null ? '' : `, ${begins}`;
  if (json) terminal.out(JSON.stringify(submission));
  else if (theirs !== null) terminal.out(theirs);
  else if (status === 'existing' && once === undefined)
    terminal.out(`existing ${requestId}/${id}${begins === null ? '' : ', begins as accepted before'}`);
  else terminal.out(`${onceWord(once, status)} ${requestId}/${id}${underKey(key)}${begin}`);
  terminal.err(`follow it: ${ADJUTANT} tail ${requestId}`);
  if (theirs === null) terminal.err(`cancel it: ${ADJUTANT} cancel ${requestId} ${id}`);
  return EXIT.done;
}

/** `debounced`: its content replaced that of the call before. */
function onceWord(once: OnceAnswer | undefined, status: string): string {
  return once?.outcome === 'debounced' ? once.outcome : status;
}

function underKey(key: string | undefined): string {
  return key === undefined ? '' : ` under the key ${oneLine(key, 256)}`;
}

/** Shows the call until it ends; null when its end did not arrive. */
async function follow(
  invocation: Invocation,
  tool: string,
  work: Call,
  interruption: OnInterrupt,
): Promise<ExitCode | null> {
  const { client, terminal, json } = invocation;
  const line = json ? null : createLiveLine(terminal, tool, 'queued');
  using silence = explainSilence(invocation, work);
  const quiet = (asking: boolean): void => {
    line?.quiet(asking);
    silence.quiet(asking);
  };
  const prompts = createPrompts(invocation, quiet);
  interruption.watch({ ...work, quiet });
  try {
    for await (const signal of client.signals(work.requestId, { signal: interruption.giveUp })) {
      if (callIdOf(signal) !== work.id) continue;
      silence.add(signal);
      promptFor(signal, invocation, work.requestId, prompts);
      if (!isTerminalSignal(signal)) line?.show(signal);
      else return await answer(signal, invocation, work, () => line?.end());
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
    ...tagFieldsOf(options),
  };
  return { type: 'tool_exec', tool_name: tool, arguments: args, ...given, ...when };
}

async function answer(
  signal: TerminalSignal,
  { client, terminal, json, interrupt }: Invocation,
  { requestId, id }: Call,
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
