/** A tool call that waits for approval, as the person at the keyboard is asked about it.
 *  It must never decide by itself: an unanswered question stays open. */
import { who } from '../commands/answer.ts';
import { ADJUTANT } from '../command-name.ts';
import { parseExactJson } from '../../contract/json/exact-json.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { ApprovalDecisionBody } from '../../contract/run/run.ts';
import type { Invocation } from '../invocation.ts';
import type { Prompt } from './prompts.ts';
import { approvalText, type DataOf } from './signal-gist.ts';
import { plainJson, shellWord, type Terminal } from '../terminal.ts';

export type Approval = DataOf<'ai.tool.approval_requested'>;

/** Commands that approve and deny a call. */
export function decisionCommands(requestId: string, callId: string): string[] {
  const call = `${requestId} ${shellWord(callId)}`;
  return [`${ADJUTANT} approve ${call}`, `${ADJUTANT} deny ${call} --reason '…'`];
}

export function approvalPrompt(
  { client, terminal }: Pick<Invocation, 'client' | 'terminal'>,
  requestId: string,
  approval: Approval,
): Prompt {
  const { call_id: id } = approval;
  return {
    key: `approval ${id}`,
    callId: id,
    /** Never shortened: a person approves only what is shown. */
    announce() {
      const text = approvalText(approval, Infinity);
      terminal.err(`${terminal.paintErr('yellow', '? waits for approval')} ${text}`);
    },
    printCommands() {
      for (const line of decisionCommands(requestId, id)) terminal.err(`  ${line}`);
    },
    async answer(keyboard, signal) {
      const decision = await decisionOf(approval, keyboard, signal, terminal);
      if (decision !== null) await client.runs.decide(requestId, id, { ...decision, ...who(undefined) });
      return decision !== null;
    },
  };
}

/** null: the question was withdrawn, or not answered. */
async function decisionOf(
  approval: Approval,
  keyboard: NonNullable<Invocation['keyboard']>,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<ApprovalDecisionBody | null> {
  const answer = await choiceOf(keyboard, signal, terminal);
  if (answer === null) return null;
  if (/^y/i.test(answer)) return { decision: 'approve' };
  if (!/^e/i.test(answer)) return { decision: 'deny', ...(await reasonOf(keyboard, signal)) };
  const edited = await editedArguments(approval, keyboard, signal);
  return edited === null ? null : { decision: 'approve', arguments: edited };
}

/** Repeated until it is one of the choices: a decision cannot be taken back, so that no other word makes one. */
async function choiceOf(
  keyboard: NonNullable<Invocation['keyboard']>,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<string | null> {
  for (;;) {
    const typed = await keyboard.ask('approve? [y]es, [N]o, [e]dit its arguments: ', { signal });
    const answer = typed?.trim() ?? null;
    if (answer === null || /^(y(es)?|no?|e(dit)?)?$/i.test(answer)) return answer;
    terminal.err(terminal.paintErr('yellow', 'Nothing is decided. Type y, n or e; Enter alone denies.'));
  }
}

async function reasonOf(
  keyboard: NonNullable<Invocation['keyboard']>,
  signal: AbortSignal,
): Promise<{ reason?: string }> {
  const reason = (await keyboard.ask('why? (the model reads it) ', { signal }))?.trim() ?? '';
  return reason === '' ? {} : { reason };
}

/** Repeated until the answer is a JSON object. */
async function editedArguments(
  approval: Approval,
  keyboard: NonNullable<Invocation['keyboard']>,
  signal: AbortSignal,
): Promise<Record<string, unknown> | null> {
  for (let prefill = plainJson(approval.arguments ?? {}); ;) {
    const text = await keyboard.ask('arguments: ', { signal, prefill });
    if (text === null) return null;
    const value = objectIn(text);
    if (value !== null) return value;
    prefill = text;
  }
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = parseExactJson(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
