/** `adjutant input`, `approve` and `deny`: sends input and decisions to a run under way.
 *  It must never send anything twice. */
import type { ApprovalDecisionBody } from '../../contract/run.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { objectArgument } from '../object-argument.ts';
import { promptOf } from '../prompt.ts';
import { who } from './answer.ts';

export interface InputOptions {
  readonly id?: string;
}

export interface DecisionOptions {
  readonly reason?: string;
  /** JSON that replaces the arguments of the model. */
  readonly arguments?: string;
  /** Default: the user of this process. */
  readonly by?: string;
}

export async function input(
  { client, terminal, json }: Invocation,
  requestId: string,
  content: string,
  { id }: InputOptions,
): Promise<ExitCode> {
  const named = id === undefined ? {} : { input_id: id };
  const accepted = await client.runs.input(requestId, { content: await promptOf(content), ...named });
  const waits = accepted.queued === 1 ? 'it is the next' : `${accepted.queued} wait, this one included`;
  terminal.out(json ? JSON.stringify(accepted) : `${accepted.input_id}  ${waits}`);
  return EXIT.done;
}

export async function decide(
  { client, terminal, json }: Invocation,
  { requestId, callId }: { readonly requestId: string; readonly callId: string },
  decision: ApprovalDecisionBody['decision'],
  options: DecisionOptions,
): Promise<ExitCode> {
  const recorded = await client.runs.decide(requestId, callId, {
    decision,
    ...(options.reason === undefined ? {} : { reason: options.reason }),
    ...(options.arguments === undefined ? {} : { arguments: objectArgument(options.arguments) }),
    ...who(options.by),
  });
  const outcome = recorded.decision === 'approve' ? 'approved' : 'denied';
  terminal.out(json ? JSON.stringify(recorded) : `${recorded.call_id}  ${outcome}`);
  return EXIT.done;
}
