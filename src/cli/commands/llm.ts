/** `adjutant llm`: calls a model and prints its answer as it arrives.
 *  Never prints text that is not in the final answer, unless a line reports it as void. */
import { readFile } from 'node:fs/promises';
import type { SubmittedDirective } from '../../contract/directive/directive.ts';
import type { Signal, TerminalSignal } from '../../contract/signal/signal.ts';
import { type AnswerMode, type AnswerPrinter, createAnswerPrinter } from '../following/answer-printer.ts';
import { onInterrupt, type OnInterrupt } from '../on-interrupt.ts';
import { printFailure } from '../failure-lines.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { createLiveLine } from '../following/live-line.ts';
import { decimal, promptOf, wholeNumber } from '../options/option-values.ts';
import { retryText } from '../following/signal-gist.ts';
import { callIdOf } from '../following/signal-lines.ts';
import { explainSilence } from '../following/silence.ts';
import type { Terminal } from '../terminal.ts';
import { answerText, turnIn, turnLine } from '../following/turn-text.ts';

export interface LlmOptions {
  /** `provider:model`. Default: the alias. */
  readonly model?: string;
  /** Default: `fast`. */
  readonly alias?: string;
  readonly system?: string;
  readonly maxTokens?: number;
  readonly temperature?: number;
  /** A file with the JSON Schema of the answer. */
  readonly schema?: string;
  readonly timeoutMs?: number;
  readonly maxRetries?: number;
  /** Default: live on a terminal, whole elsewhere. False also requests the whole answer from the model. */
  readonly stream?: boolean;
  readonly request?: string;
  readonly id?: string;
}

const DEFAULT_ALIAS = 'fast';

type Response = Extract<TerminalSignal, { type: 'ai.llm.response' }>;

/** A call under way. */
interface Call {
  readonly requestId: string;
  readonly id: string;
  readonly mode: AnswerMode;
  readonly interruption: OnInterrupt;
}

export function addLlm({ program, withClient }: CommandLine): void {
  program
    .command('llm <prompt>')
    .description('call a model, and print its answer; - reads the prompt from stdin')
    .option('--model <provider:model>', 'the model; default: the alias')
    .option('--alias <name>', 'the alias of a model or a chain of them; default: fast')
    .option('--system <text>', 'the system prompt')
    .option('--max-tokens <n>', 'limit of the answer; default: 1024', wholeNumber)
    .option('--temperature <t>', 'default: 0.2', decimal)
    .option('--schema <file>', 'a JSON Schema; the answer is a value that fits it')
    .option('--timeout-ms <ms>', "limit of one attempt; default: the provider's", wholeNumber)
    .option('--max-retries <n>', 'attempts after a failed first one; default: 0', wholeNumber)
    .option('--stream', 'print the answer as it arrives; default: on a terminal')
    .option('--no-stream', 'request the whole answer at once')
    .option('--request <id>', 'the request it belongs to; default: a new one')
    .option('--id <id>', 'its id; default: a new one')
    .action(async (prompt: string, given: LlmOptions) =>
      withClient(async (invocation) => llm(invocation, prompt, given)),
    );
}

async function llm(invocation: Invocation, prompt: string, options: LlmOptions): Promise<ExitCode> {
  const { client, terminal } = invocation;
  const directive = await directiveOf(await promptOf(prompt), options);
  using interruption = onInterrupt(invocation);
  const submission = await client.submit(directive, { signal: interruption.giveUp });
  const [entry] = submission.directives;
  const work = { requestId: submission.request_id, id: entry?.id ?? '' };
  const call = { ...work, mode: modeOf(terminal, options), interruption };
  const signals = client.signals(call.requestId, { signal: interruption.giveUp });
  using silence = explainSilence(invocation, work);
  if (invocation.json) {
    interruption.watch({ ...work, quiet: silence.quiet });
    return printJson(await endOf(signals, call.id, silence.add), invocation, call);
  }
  const printer = createAnswerPrinter(terminal, call.mode);
  const line = createLiveLine(terminal, options.model ?? options.alias ?? DEFAULT_ALIAS, 'asked');
  const quiet = (asking: boolean): void => {
    line.quiet(asking);
    silence.quiet(asking);
  };
  interruption.watch({ ...work, quiet });
  const response = await endOf(signals, call.id, (signal) => {
    silence.add(signal);
    if (signal.type === 'directive.retry_scheduled')
      terminal.err(terminal.paintErr('yellow', retryText(signal.data)));
    if (signal.type === 'directive.waiting') line.show(signal);
    if (printer.show(signal)) line.end();
  }).finally(() => {
    line.end();
    terminal.endLine();
  });
  return await printAnswer(response, invocation, call, printer);
}

/** Live on a terminal; files and programs get only the answer. A value for a schema is not printed live. */
function modeOf({ liveOut }: Terminal, { stream, schema }: LlmOptions): AnswerMode {
  return (stream ?? (liveOut && schema === undefined)) ? 'live' : 'whole';
}

async function directiveOf(prompt: string, options: LlmOptions): Promise<SubmittedDirective> {
  const named = {
    request_id: options.request,
    id: options.id,
    model: options.model,
    model_alias: options.alias ?? (options.model === undefined ? DEFAULT_ALIAS : undefined),
    system_prompt: options.system,
    max_tokens: options.maxTokens,
    temperature: options.temperature,
    output_schema: options.schema === undefined ? undefined : await readSchema(options.schema),
    timeout_ms: options.timeoutMs,
    max_retries: options.maxRetries,
  };
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  const type = options.stream === false ? 'llm_generate' : 'llm_stream';
  return { type, context: [{ role: 'user', content: prompt }], ...given };
}

async function readSchema(file: string): Promise<Record<string, unknown>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  } catch (error) {
    throw usage(
      `The schema cannot be read: ${(error as Error).message}`,
      'Name a file that holds a JSON Schema.',
    );
  }
}

/** The signal that ended the call; null when it did not arrive. */
async function endOf(
  signals: AsyncIterable<Signal>,
  id: string,
  show: (signal: Signal) => void = () => {},
): Promise<Response | null> {
  for await (const signal of signals) {
    if (callIdOf(signal) !== id) continue;
    show(signal);
    if (signal.type === 'ai.llm.response') return signal;
  }
  return null;
}

async function printAnswer(
  response: Response | null,
  { client, terminal, interrupt }: Invocation,
  call: Call,
  printer: AnswerPrinter,
): Promise<ExitCode> {
  const { result, metadata } = (response ?? unanswered(call)).data;
  if (!result.ok) {
    printFailure(terminal, result.error, call);
    return interrupt.aborted ? EXIT.interrupted : EXIT.failed;
  }
  const turn = turnIn(result.payload) ?? turnIn(await client.payload(call.requestId, call.id));
  if (turn === null) throw new Error(`The answer of ${call.id} is not a turn of a model.`);
  printer.finish(answerText(turn));
  terminal.err(terminal.paintErr('dim', turnLine(turn, metadata['provider'])));
  return EXIT.done;
}

function printJson(response: Response | null, { terminal, interrupt }: Invocation, call: Call): ExitCode {
  const { result } = (response ?? unanswered(call)).data;
  terminal.out(JSON.stringify(result));
  if (result.ok) return EXIT.done;
  return interrupt.aborted ? EXIT.interrupted : EXIT.failed;
}

function unanswered({ interruption, ...work }: Call): never {
  throw interruption.unended(work);
}
