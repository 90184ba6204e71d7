/** A question that a tool asks, as the person at the keyboard is asked it: message, fields or URL, and the answer.
 *  It must never fetch a URL, shorten what is answered, or answer by itself. */
import { who } from '../commands/answer.ts';
import { ADJUTANT } from '../command-name.ts';
import { parseExactJson } from '../../contract/json/exact-json.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import { isSensitiveKey } from '../../contract/json/redaction.ts';
import {
  APPROVAL_KEY,
  type InputAnswerBody,
  type OpenInput,
  parseInputId,
} from '../../contract/tool/tool-question.ts';
import type { Invocation } from '../invocation.ts';
import type { Keyboard } from '../keyboard.ts';
import { decisionCommands } from './approvals.ts';
import type { Prompt } from './prompts.ts';
import { type Field, fieldsOf, fieldText, valueOf } from './question-fields.ts';
import type { DataOf } from './signal-gist.ts';
import { plainJson, printable, type Terminal } from '../terminal.ts';

export type Asked = DataOf<'ai.tool.input_requested'>;

/** Key of a prompt. */
export function questionKey(inputId: string): string {
  return `input ${inputId}`;
}

/** Whether the service itself asks for the approval of the call. */
function isApproval({ key }: Pick<OpenInput, 'key'>): boolean {
  return key === APPROVAL_KEY;
}

/** The question, in lines. */
export function questionLines(asked: Omit<OpenInput, 'input_id' | 'deadline_at'>): string[] {
  const { message, schema, url, mode } = asked;
  const lines = printable(message)
    .split('\n')
    .map((line) => `  ${line}`);
  if (isApproval(asked)) return lines;
  if (mode === 'url') return [...lines, `  open: ${printable(url ?? '')}`, ...hostLines(url ?? '')];
  const fields = fieldsOf(schema ?? {});
  if (fields === null) return [...lines, `  as JSON that fits ${plainJson(schema)}`];
  return [...lines, ...fields.map((field) => `  - ${fieldText(field)}`)];
}

/** Where the browser goes, beside a URL that may be long. */
function hostLines(url: string): string[] {
  return URL.canParse(url) ? [`  on the host: ${printable(new URL(url).host)}`] : [];
}

export function questionPrompt(
  { client, terminal }: Pick<Invocation, 'client' | 'terminal'>,
  requestId: string,
  asked: Asked,
): Prompt {
  const { input_id: inputId, call_id: callId, tool_name: tool } = asked;
  return {
    key: questionKey(inputId),
    callId,
    announce() {
      const what = isApproval(asked) ? 'waits for approval' : 'asks';
      terminal.err(
        `${terminal.paintErr('yellow', `? ${printable(tool)} ${what}`)} until ${asked.deadline_at}`,
      );
      for (const line of questionLines(asked)) terminal.err(line);
      warnOfSecrets(asked, terminal);
    },
    printCommands() {
      for (const line of commandLines(requestId, asked)) terminal.err(`  ${line}`);
    },
    answer: async (keyboard, signal) =>
      askUntilAccepted(asked, keyboard, signal, terminal, async (body) =>
        client.answer(requestId, inputId, { ...body, ...who(undefined) }),
      ),
  };
}

export function commandLines(
  requestId: string,
  { input_id: inputId, mode, key }: Pick<OpenInput, 'input_id' | 'mode' | 'key'>,
): string[] {
  const callId = isApproval({ key }) ? parseInputId(inputId)?.callId : undefined;
  if (callId !== undefined) return decisionCommands(requestId, callId);
  const content = mode === 'form' ? ` '{…}'` : '';
  const answer = `${ADJUTANT} answer ${requestId} ${inputId}`;
  return [`${answer}${content}`, `${answer} --decline`];
}

/** The tool gets what is typed; a form is no place for a secret. */
function warnOfSecrets({ schema }: Asked, terminal: Terminal): void {
  const secret = fieldsOf(schema ?? {})?.find(({ name }) => isSensitiveKey(name));
  if (secret === undefined) return;
  const warning = `"${printable(secret.name)}" may be a secret: its server reads your answer`;
  terminal.err(`  ${terminal.paintErr('red', warning)}`);
}

type Send = (body: InputAnswerBody) => Promise<unknown>;

/** Asked again where the service refuses the content, which names the fault. */
async function askUntilAccepted(
  asked: Asked,
  keyboard: Keyboard,
  signal: AbortSignal,
  terminal: Terminal,
  send: Send,
): Promise<boolean> {
  for (;;) {
    const body = await answerBody(asked, keyboard, signal, terminal);
    if (body === null) return false;
    try {
      await send(body);
      return true;
    } catch (error) {
      if (!(error instanceof DirectiveRefused) || error.problem.code !== 'invalid_body') throw error;
      terminal.err(terminal.paintErr('yellow', printable(error.message)));
    }
  }
}

/** null: it was withdrawn, or not answered. */
async function answerBody(
  asked: Asked,
  keyboard: Keyboard,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<InputAnswerBody | null> {
  const fields = asked.mode === 'url' ? [] : fieldsOf(asked.schema ?? {});
  const choice = await choiceOf(asked, fields, keyboard, signal, terminal);
  if (choice === null) return null;
  if (typeof choice === 'object') return { action: 'accept', content: choice };
  if (choice === 'decline') return { action: 'decline' };
  if (asked.mode === 'url') return { action: 'accept' };
  const content =
    fields === null ? await typedJson(keyboard, signal) : await typedFields(fields, keyboard, signal);
  return content === null ? null : { action: 'accept', content };
}

type Fields = readonly Field[] | null;

/** Repeated until it is one of the choices. null: withdrawn, or left open by an empty line. */
async function choiceOf(
  asked: Asked,
  fields: Fields,
  keyboard: Keyboard,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<'accept' | 'decline' | Record<string, string> | null> {
  const isUrl = asked.mode === 'url';
  const others = isUrl ? 'opened it? [y]es, [d]ecline: ' : 'answer? [y]es, [d]ecline: ';
  const question = isApproval(asked) ? 'approve? [y]es, [d]eny: ' : others;
  for (;;) {
    const typed = (await keyboard.ask(question, { signal }))?.trim();
    if (typed === undefined || typed === '') return null;
    if (/^y(es)?$/i.test(typed)) return 'accept';
    if (/^d(ecline)?$|^no?$/i.test(typed)) return 'decline';
    const content = onlyChoice(fields, typed);
    if (content !== null) return content;
    const then = isUrl ? 'y when you have opened it' : 'y, and then your answer';
    const yes = isApproval(asked) ? 'y' : then;
    const hint = `Nothing is sent. Type ${yes}, or d; Enter alone leaves it open.`;
    terminal.err(terminal.paintErr('yellow', hint));
  }
}

/** A form that asks for one of several words has its answer when one of them is typed. */
function onlyChoice(fields: Fields, typed: string): Record<string, string> | null {
  const [field, ...others] = fields ?? [];
  if (field === undefined || others.length > 0 || field.type !== 'string') return null;
  return field.choices.includes(typed) ? Object.fromEntries([[field.name, typed]]) : null;
}

async function typedFields(
  fields: readonly Field[],
  keyboard: Keyboard,
  signal: AbortSignal,
): Promise<Record<string, unknown> | null> {
  const typed: [string, unknown][] = [];
  for (const field of fields) {
    const text = await keyboard.ask(`  ${fieldText(field)}: `, { signal });
    if (text === null) return null;
    const value = valueOf(field, text);
    if (value !== undefined) typed.push([field.name, value]);
  }
  return Object.fromEntries(typed);
}

/** Repeated until the answer is a JSON object. */
async function typedJson(keyboard: Keyboard, signal: AbortSignal): Promise<Record<string, unknown> | null> {
  for (let prefill = '{}'; ;) {
    const text = await keyboard.ask('answer as JSON: ', { signal, prefill });
    if (text === null) return null;
    const value = parsed(text);
    if (isObject(value)) return value;
    prefill = text;
  }
}

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return null;
  }
}
