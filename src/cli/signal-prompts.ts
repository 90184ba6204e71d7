/** Which signals ask something of the person at the keyboard, and which end it.
 *  It must never answer. */
import type { Signal } from '../contract/signal.ts';
import { approvalPrompt } from './approvals.ts';
import type { Invocation } from './invocation.ts';
import type { Prompts } from './prompts.ts';
import { questionKey, questionPrompt } from './questions.ts';

export function promptFor(
  signal: Signal,
  invocation: Pick<Invocation, 'client' | 'terminal'>,
  requestId: string,
  prompts: Prompts,
): void {
  const { type, data } = signal;
  if (type === 'ai.tool.approval_requested') prompts.add(approvalPrompt(invocation, requestId, data));
  else if (type === 'ai.tool.input_requested') prompts.add(questionPrompt(invocation, requestId, data));
  else if (type === 'ai.tool.input_answered') prompts.drop(questionKey(data.input_id));
  // A call with a result needs no answer any more: it was denied, or its time was up.
  else if (type === 'ai.tool.approval_decided' || type === 'ai.tool.result') prompts.dropCall(data.call_id);
}
