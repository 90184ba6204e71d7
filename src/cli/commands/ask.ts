/** `adjutant ask`: starts a run of an agent and follows it; an interrupt cancels the run.
 *  It must never print anything but the answer on stdout, except for live text. */
import { ADJUTANT } from '../command-name.ts';
import { errorEnvelopeSchema } from '../../contract/error-envelope.ts';
import type { RunOverrides, RunView, StartedRun, SubmittedRun } from '../../contract/run/run.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { type AnswerMode, createRunPrinter, type RunPrinter } from '../following/answer-printer.ts';
import { createPrompts, promptFor } from '../following/prompts.ts';
import { type CancelOnInterrupt, cancelOnInterrupt, orUnread } from '../cancel-on-interrupt.ts';
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
  WITH_KEY,
} from '../options/submission-options.ts';
import { printFailure, printPlace } from '../failure-lines.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { payloadText } from './payload.ts';
import { promptOf } from '../options/option-values.ts';
import { runLine } from '../following/run-lines.ts';
import { anyErrorText } from '../following/signal-gist.ts';

export interface AskOptions extends LaterOptions, FlowOptions, OnceOptions, EndOptions {
  /** Default: `default`. */
  readonly agent?: string;
  /** Runs of one conversation share its history. */
  readonly conversation?: string;
  readonly model?: string;
  readonly alias?: string;
  /** Default: live on a terminal, whole elsewhere. False also requests whole answers from the model. */
  readonly stream?: boolean;
  readonly request?: string;
  readonly encrypt?: boolean;
}

type Ending = Extract<Signal, { type: 'ai.request.completed' | 'ai.request.failed' }>;

export function addAsk({ program, withClient }: CommandLine): void {
  const verb = program
    .command('ask <query>')
    .description('start a run of an agent and follow it to its answer; - reads the query from stdin')
    .option('--agent <name>', 'default: default')
    .option('--conversation <id>', 'runs of one conversation share its history')
    .option('--model <provider:model>', "default: the agent's")
    .option('--alias <name>', "an alias of models; default: the agent's")
    .option('--stream', 'print the answer as it arrives; default: on a terminal')
    .option('--no-stream', 'request whole answers from the models')
    .option('--request <id>', 'id of the request; default: a new one')
    .option('--encrypt', `encrypt the query ${WITH_KEY}`);
  addEndOption(addOnceOptions(addFlowOptions(addLaterOptions(verb)), 'run')).action(
    async (query: string, given: AskOptions) =>
      withClient(async (invocation) => ask(invocation, query, given)),
  );
}

async function ask(given: Invocation, query: string, options: AskOptions): Promise<ExitCode> {
  const invocation = encryptingWhere(given, options);
  const { client, terminal } = invocation;
  using cancellation = cancelOnInterrupt(invocation);
  const run = await client.runs.start(runOf(await promptOf(query), options));
  const { request_id: requestId } = run;
  const begins = laterBegin(run, options);
  if (begins !== null) return printLater(invocation, run, begins);
  const stands = onceInWords(run.once, requestId);
  if (stands !== null) terminal.err(stands);
  const isTheirs = isOthers(run.once);
  if (!isTheirs) cancellation.watch(requestId);
  const mode: AnswerMode = (options.stream ?? terminal.liveOut) && !invocation.json ? 'live' : 'whole';
  const printer = createRunPrinter(terminal, mode);
  const signals = client.signals(requestId, {
    signal: isTheirs ? invocation.interrupt : cancellation.giveUp,
  });
  const read = <T>(reading: () => Promise<T>): Promise<T> => orUnread(reading, { requestId });
  const ending = await read(async () => follow(signals, invocation, requestId, printer));
  if (ending === null) return unended(requestId, invocation.interrupt, isTheirs ? null : cancellation);
  const view = (await read(async () => client.request(requestId)))?.run ?? null;
  return printEnding(ending, view, invocation, { requestId, printer });
}

/** null: it begins as soon as it can. */
function laterBegin({ once }: StartedRun, options: AskOptions): string | null {
  return options.debounce === undefined ? beginsInWords(options) : `at ${once?.until}, if nothing else comes`;
}

/** Prints the ids instead of waiting for a delayed answer. */
function printLater({ terminal, json }: Invocation, run: StartedRun, begins: string): ExitCode {
  const { request_id: requestId, once } = run;
  const stands = onceInWords(once, requestId);
  if (json) terminal.out(JSON.stringify(run));
  else terminal.out(isOthers(once) && stands !== null ? stands : laterWords(run, begins));
  if (!json && once?.outcome === 'replaced') terminal.err(String(stands));
  terminal.err(`follow it: ${ADJUTANT} tail ${requestId}`);
  if (!isOthers(once)) terminal.err(`cancel it: ${ADJUTANT} cancel ${requestId}`);
  return EXIT.done;
}

function laterWords({ request_id: requestId, status, once }: StartedRun, begins: string): string {
  if (status !== 'pending') return `existing ${requestId}, ${status}`;
  return `${once?.outcome === 'debounced' ? once.outcome : 'accepted'} ${requestId}, begins ${begins}`;
}

function runOf(query: string, options: AskOptions): SubmittedRun {
  const overrides: RunOverrides = {
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.alias === undefined ? {} : { model_alias: options.alias }),
    ...(options.stream === false ? { stream: false } : {}),
  };
  return {
    agent: options.agent ?? 'default',
    query,
    overrides,
    ...(options.request === undefined ? {} : { request_id: options.request }),
    ...(options.conversation === undefined ? {} : { conversation_id: options.conversation }),
    ...laterFieldsOf(options),
    ...onceFieldsOf(options),
    ...endFieldsOf(options),
    ...flowOptionsOf(options),
  };
}

/** Shows the run until it ends; null when its end did not arrive. */
async function follow(
  signals: AsyncIterable<Signal>,
  invocation: Invocation,
  requestId: string,
  printer: RunPrinter,
): Promise<Ending | null> {
  const prompts = createPrompts(invocation, printer.quiet);
  try {
    for await (const signal of signals) {
      if (!invocation.json) printer.show(signal);
      promptFor(signal, invocation, requestId, prompts);
      if (signal.type === 'ai.request.completed' || signal.type === 'ai.request.failed') return signal;
    }
    return null;
  } finally {
    prompts.close();
    printer.end();
  }
}

function printEnding(
  ending: Ending,
  view: RunView | null,
  { terminal, json, interrupt }: Invocation,
  { requestId, printer }: { readonly requestId: string; readonly printer: RunPrinter },
): ExitCode {
  if (json) terminal.out(JSON.stringify(view ?? ending.data));
  if (ending.type === 'ai.request.failed') {
    if (!json) printError(ending.data.error, terminal, requestId);
    return interrupt.aborted ? EXIT.interrupted : EXIT.failed;
  }
  if (json) return EXIT.done;
  const answer = payloadText(ending.data.result);
  // Live text is not printed again.
  const printed = printer.lastOutput();
  if (printed === null || payloadText(printed) !== answer) terminal.write(answer);
  terminal.endLine();
  if (ending.data.termination_reason === 'length')
    terminal.err(terminal.paintErr('yellow', 'The answer was cut off: the model reached its max_tokens.'));
  const footer = [...(view === null ? [] : [runLine(view), ...printer.models()]), `request ${requestId}`];
  terminal.err(terminal.paintErr('dim', footer.join(' · ')));
  return EXIT.done;
}

function printError(error: unknown, terminal: Invocation['terminal'], requestId: string): void {
  const envelope = errorEnvelopeSchema.safeParse(error);
  if (envelope.success) return printFailure(terminal, envelope.data, { requestId });
  terminal.err(`${terminal.paintErr('red', 'failed')} ${anyErrorText(error)}`);
  printPlace(terminal, { requestId });
}

/** `cancellation` null: others wait for it as well. */
function unended(requestId: string, interrupt: AbortSignal, cancellation: CancelOnInterrupt | null): never {
  if (!interrupt.aborted) throw new Error(`Request ${requestId} was closed, and its run has not ended.`);
  const how = `See its state: ${ADJUTANT} get ${requestId}`;
  if (cancellation !== null) throw cancellation.unconfirmed(how);
  throw new CliFailure({ what: 'Interrupted; the run goes on for others.', how, exitCode: EXIT.interrupted });
}
