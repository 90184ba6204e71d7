/** `adjutant answer`: the answer to a question that a tool asks.
 *  It must never send anything twice. */
import { userInfo } from 'node:os';
import type { InputAnswerBody } from '../../contract/tool/tool-question.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { objectArgument } from '../options/option-values.ts';

export interface AnswerOptions {
  readonly decline?: boolean;
  readonly cancel?: boolean;
  /** Default: the user of this process. */
  readonly by?: string;
}

const WORDS = { accept: 'accepted', decline: 'declined', cancel: 'cancelled' } as const;

export function addAnswer({ program, withClient }: CommandLine): void {
  program
    .command('answer <request> <input> [json]')
    .description('answer a question that a tool asks')
    .option('--decline', 'refuse to answer')
    .option('--cancel', 'leave the question without a choice')
    .option('--by <name>', 'who answers; default: the user of this process')
    .action(async (requestId: string, inputId: string, json: string | undefined, given: AnswerOptions) =>
      withClient(async (invocation) => answerQuestion(invocation, { requestId, inputId }, json, given)),
    );
}

async function answerQuestion(
  { client, terminal, json }: Invocation,
  { requestId, inputId }: { readonly requestId: string; readonly inputId: string },
  text: string | undefined,
  options: AnswerOptions,
): Promise<ExitCode> {
  const recorded = await client.answer(requestId, inputId, { ...bodyOf(text, options), ...who(options.by) });
  terminal.out(json ? JSON.stringify(recorded) : `${recorded.input_id}  ${WORDS[recorded.action]}`);
  return EXIT.done;
}

function bodyOf(text: string | undefined, { decline, cancel }: AnswerOptions): InputAnswerBody {
  const refuses = decline === true || cancel === true;
  if (refuses && (text !== undefined || (decline && cancel)))
    throw usage('An answer, --decline and --cancel exclude each other.', 'Give one of them.');
  if (refuses) return { action: decline === true ? 'decline' : 'cancel' };
  return { action: 'accept', ...(text === undefined ? {} : { content: objectArgument(text) }) };
}

/** Who answers, for those who come second. */
export function who(given: string | undefined): { by?: string } {
  const name = given ?? userName();
  return name === '' ? {} : { by: name };
}

function userName(): string {
  try {
    return userInfo()
      .username.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '')
      .slice(0, 128);
  } catch {
    // A user without an entry in the system's list.
    return '';
  }
}
