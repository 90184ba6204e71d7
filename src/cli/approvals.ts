/** Asks the person about tool calls that wait for approval, one by one; without a keyboard prints the commands.
 *  It must never decide by itself: an unanswered question stays open. */
import { ADJUTANT } from './command-name.ts';
import { isObject } from '../contract/json-object.ts';
import type { ApprovalDecisionBody } from '../contract/run.ts';
import { DirectiveRefused } from '../contract/problem.ts';
import type { Invocation } from './invocation.ts';
import { approvalText, type DataOf } from './signal-gist.ts';
import { plainJson } from './terminal.ts';

export interface Approvals {
  requested(approval: Approval): void;
  /** A decision exists, made here or elsewhere: the question is dropped. */
  decided(callId: string): void;
  /** No further question is asked. */
  close(): void;
}

export type Approval = DataOf<'ai.tool.approval_requested'>;

/** `quiet` is called when a question begins and ends, so that nothing is drawn over it. */
export function createApprovals(
  { client, terminal, keyboard }: Pick<Invocation, 'client' | 'terminal' | 'keyboard'>,
  requestId: string,
  quiet: (asking: boolean) => void,
): Approvals {
  const open = new Map<string, AbortController>();
  let questions = Promise.resolve();

  /** Never shortened: nobody can approve what is not shown. */
  function announce(approval: Approval): void {
    terminal.err(
      `${terminal.paintErr('yellow', '? waits for approval')} ${approvalText(approval, Infinity)}`,
    );
  }

  function printCommands({ call_id: id }: Approval): void {
    terminal.err(`  ${ADJUTANT} approve ${requestId} ${id}`);
    terminal.err(`  ${ADJUTANT} deny ${requestId} ${id} --reason '…'`);
  }

  async function ask(approval: Approval, signal: AbortSignal): Promise<void> {
    if (keyboard === null || signal.aborted) return;
    quiet(true);
    announce(approval);
    try {
      const decision = await decisionOf(approval, keyboard, signal);
      if (decision !== null) await client.runs.decide(requestId, approval.call_id, decision);
      else if (!signal.aborted) printCommands(approval);
    } catch (error) {
      // Decided or ended meanwhile: the signals report it.
      if (!(error instanceof DirectiveRefused)) throw error;
      terminal.err(terminal.paintErr('yellow', error.message));
    } finally {
      quiet(false);
    }
  }

  return {
    requested: (approval) => {
      if (keyboard === null) {
        announce(approval);
        return printCommands(approval);
      }
      const taken = new AbortController();
      open.set(approval.call_id, taken);
      questions = questions
        .then(async () => ask(approval, taken.signal))
        .catch((error: unknown) => {
          terminal.err(terminal.paintErr('red', String(error)));
          printCommands(approval);
        });
    },
    decided: (callId) => {
      open.get(callId)?.abort();
      open.delete(callId);
    },
    close: () => {
      for (const taken of open.values()) taken.abort();
      open.clear();
    },
  };
}

/** null: the question was withdrawn, or not answered. */
async function decisionOf(
  approval: Approval,
  keyboard: NonNullable<Invocation['keyboard']>,
  signal: AbortSignal,
): Promise<ApprovalDecisionBody | null> {
  const answer = (await keyboard.ask('approve? [y]es, [N]o, [e]dit its arguments: ', { signal }))?.trim();
  if (answer === undefined) return null;
  if (/^y(es)?$/i.test(answer)) return { decision: 'approve' };
  if (!/^e(dit)?$/i.test(answer)) return { decision: 'deny', ...(await reasonOf(keyboard, signal)) };
  const edited = await editedArguments(approval, keyboard, signal);
  return edited === null ? null : { decision: 'approve', arguments: edited };
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
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
