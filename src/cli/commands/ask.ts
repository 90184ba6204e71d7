/** `adjutant ask`: starts a run of an agent and follows it. Never prints anything but the answer on stdout, except for live text. */
import { ADJUTANT } from '../command-name.ts';
import { errorEnvelopeSchema } from '../../contract/error-envelope.ts';
import type { RunOverrides, RunView, StartedRun, SubmittedRun } from '../../contract/run/run.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { type AnswerMode, createRunPrinter, type RunPrinter } from '../following/answer-printer.ts';
import { createPrompts, promptFor } from '../following/prompts.ts';
import { onInterrupt, type OnInterrupt, orUnread } from '../on-interrupt.ts';
import { openConsole } from '../browser.ts';
import { examples } from '../examples.ts';
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
  WITH_KEY,
} from '../options/submission-options.ts';
import { printFailure, printPlace } from '../failure-lines.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { payloadText } from './payload.ts';
import { promptOf } from '../options/option-values.ts';
import { runLine } from '../following/run-lines.ts';
import { explainSilence, type Silence } from '../following/silence.ts';
import { anyErrorText } from '../following/signal-gist.ts';

export interface AskOptions extends FollowOptions, LaterOptions, FlowOptions, OnceOptions, EndOptions {
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
  addFollowOptions(verb);
  addEndOption(addOnceOptions(addFlowOptions(addLaterOptions(verb)), 'run')).action(
    async (query: string, given: AskOptions) =>
      withClient(async (invocation) => ask(invocation, query, given)),
  );
  examples(verb, [
    `ask 'What changed this week?'`,
    `ask --agent clerk 'Refund order 1001' --request refund-1001 --detach`,
    'ask - --json < question.txt | jq -r .result',
  ]);
}

async function ask(given: Invocation, query: string, options: AskOptions): Promise<ExitCode> {
  const invocation = encryptingWhere(given, options);
  const { client, terminal } = invocation;
  using interruption = onInterrupt(invocation);
  const run = await client.runs.start(runOf(await promptOf(query), options));
  const { request_id: requestId } = run;
  if (options.web === true) openConsole(terminal, invocation.baseUrl, requestId);
  const begins = laterBegin(run, options);
  if (begins !== null) return printLater(invocation, run, `begins ${begins}`);
  if (options.detach === true) return printLater(invocation, run, null);
  const deduplicated = onceInWords(run.once, requestId);
  if (deduplicated !== null) terminal.err(deduplicated);
  const mode: AnswerMode = (options.stream ?? terminal.liveOut) && !invocation.json ? 'live' : 'whole';
  const printer = createRunPrinter(terminal, mode);
  using silence = explainSilence(invocation, { requestId });
  const quiet = (asking: boolean): void => {
    printer.quiet(asking);
    silence.quiet(asking);
  };
  const work = { requestId, isShared: isOthers(run.once), quiet };
  interruption.watch(work);
  const read = <T>(reading: () => Promise<T>): Promise<T> => orUnread(reading, work);
  const ending = await read(async () => follow(invocation, work, { printer, silence }, interruption));
  if (ending === null) throw interruption.unended(work);
  const view = (await read(async () => client.request(requestId)))?.run ?? null;
  return printEnding(ending, view, invocation, { requestId, printer });
}

/** null: it begins as soon as it can. */
function laterBegin({ once }: StartedRun, options: AskOptions): string | null {
  return options.debounce === undefined ? beginsInWords(options) : `at ${once?.until}, if nothing else comes`;
}

/** Prints the ids instead of waiting for the answer. `begins`: null: as soon as it can. */
function printLater({ terminal, json }: Invocation, run: StartedRun, begins: string | null): ExitCode {
  const { request_id: requestId, once } = run;
  const deduplicated = onceInWords(once, requestId);
  if (json) terminal.out(JSON.stringify(run));
  else terminal.out(isOthers(once) && deduplicated !== null ? deduplicated : laterWords(run, begins));
  if (!json && once?.outcome === 'replaced') terminal.err(String(deduplicated));
  terminal.err(`follow it: ${ADJUTANT} tail ${requestId}`);
  if (!isOthers(once)) terminal.err(`cancel it: ${ADJUTANT} cancel ${requestId}`);
  return EXIT.done;
}

function laterWords({ request_id: requestId, status, once }: StartedRun, begins: string | null): string {
  if (status !== 'pending') return `existing ${requestId}, ${status}`;
  const word = once?.outcome === 'debounced' ? once.outcome : 'accepted';
  return `${word} ${requestId}${begins === null ? '' : `, ${begins}`}`;
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
    ...tagFieldsOf(options),
  };
}

/** Shows the run until it ends; null when its end did not arrive. */
async function follow(
  invocation: Invocation,
  { requestId, quiet }: { readonly requestId: string; quiet(asking: boolean): void },
  { printer, silence }: { readonly printer: RunPrinter; readonly silence: Silence },
  { giveUp }: OnInterrupt,
): Promise<Ending | null> {
  const prompts = createPrompts(invocation, quiet);
  try {
    for await (const signal of invocation.client.signals(requestId, { signal: giveUp })) {
      silence.add(signal);
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
