/** `adjutant submit`: submits directives from a file or stdin, as one batch. Never submits a part of its input. */
import { ADJUTANT } from '../command-name.ts';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { InexactJson, parseExactJson } from '../../contract/json/exact-json.ts';
import type { SubmittedDirective } from '../../contract/directive/directive.ts';
import type { Submission } from '../../contract/directive/submission.ts';
import { isTerminalSignal } from '../../contract/signal/signal.ts';
import { examples } from '../examples.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import { callIdOf, signalLine } from '../following/signal-lines.ts';
import { leftRunning } from '../on-interrupt.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import type { Terminal } from '../terminal.ts';

export interface SubmitOptions {
  readonly idempotencyKey?: string;
  /** Follow the directives to their ends. */
  readonly wait?: boolean;
}

export function addSubmit({ program, withClient }: CommandLine): void {
  const verb = program
    .command('submit <file>')
    .description('submit directives from a file, or - for stdin: JSON, or one directive a line')
    .option('--idempotency-key <key>', 'names the submission: the same key is the same submission')
    .option('--wait', 'wait for the end of each directive and print it; exit code 1 if one has failed')
    .action(async (file: string, given: SubmitOptions) =>
      withClient(async (invocation) => submit(invocation, file, given)),
    );
  examples(verb, ['submit batch.jsonl --wait', 'submit - --idempotency-key nightly-42 < batch.jsonl']);
}

async function submit(invocation: Invocation, source: string, options: SubmitOptions): Promise<ExitCode> {
  const { client, terminal, json, interrupt } = invocation;
  const directives = readDirectives(await read(source), source);
  const submission = await client.submit(directives, { signal: interrupt, ...options });
  if (options.wait === true) return ends(invocation, submission);
  if (json) terminal.out(JSON.stringify(submission));
  else printAccepted(terminal, submission);
  return EXIT.done;
}

function printAccepted(terminal: Terminal, { request_id: requestId, directives }: Submission): void {
  terminal.rows(directives.map(({ id, type, status, lane }) => [id, type, status, lane ?? '-']));
  terminal.err(`follow it: ${ADJUTANT} tail ${requestId}`);
}

/** Prints the terminal signal of each directive as it arrives. An interrupt leaves them running. */
async function ends(
  { client, terminal, json, interrupt }: Invocation,
  { request_id: requestId, directives }: Submission,
): Promise<ExitCode> {
  const open = new Set(directives.map(({ id }) => id));
  let code: ExitCode = EXIT.done;
  for await (const signal of client.signals(requestId, { signal: interrupt })) {
    const id = callIdOf(signal) ?? '';
    if (!isTerminalSignal(signal) || !open.delete(id)) continue;
    terminal.out(json ? JSON.stringify(signal) : signalLine(signal, terminal.paint));
    if (!('result' in signal.data) || !signal.data.result.ok) code = EXIT.failed;
    if (open.size === 0) return code;
  }
  if (!interrupt.aborted) throw new Error(`Request ${requestId} was closed before its directives ended.`);
  throw leftRunning({ requestId });
}

async function read(source: string): Promise<string> {
  if (source === '-') return text(process.stdin);
  try {
    return await readFile(source, 'utf8');
  } catch (error) {
    throw usage(
      `${source} cannot be read: ${(error as Error).message}`,
      'Name a readable file, or - for stdin.',
    );
  }
}

/** One directive, `{directives: [...]}`, a list, or one directive per line. The service checks their content. */
function readDirectives(content: string, source: string): SubmittedDirective | SubmittedDirective[] {
  const whole = tryParse(content);
  const value: unknown = whole.ok ? whole.value : readLines(content, source);
  if (isBatch(value)) return value.directives as SubmittedDirective[];
  return value as SubmittedDirective | SubmittedDirective[];
}

function readLines(content: string, source: string): unknown[] {
  const lines = content.split('\n').map((line, index) => ({ line: line.trim(), number: index + 1 }));
  return lines
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => {
      const parsed = tryParse(line);
      if (parsed.ok) return parsed.value;
      throw usage(
        `${source}:${number} is not JSON: ${parsed.message}`,
        'Give one JSON value, or one directive a line (JSON lines).',
      );
    });
}

type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

function tryParse(json: string): Parsed {
  try {
    return { ok: true, value: parseExactJson(json) };
  } catch (error) {
    if (error instanceof InexactJson)
      throw usage(
        `The directives are refused: ${error.message}.`,
        'Write the number as a string, or as the tool expects it.',
      );
    return { ok: false, message: (error as Error).message };
  }
}

function isBatch(value: unknown): value is { directives: unknown } {
  return (
    typeof value === 'object' && value !== null && 'directives' in value && Object.keys(value).length === 1
  );
}
