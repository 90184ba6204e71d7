// What the model is given with a call: the history, what was said in the meantime, the anchors.
// Must never lose an input: it becomes part of the history here.
import type { Message } from '../../contract/message.ts';
import type { ModelCall } from '../strategies/strategy.ts';
import { compactHistory } from './compaction.ts';
import { count, isEmpty, type Run } from './run-state.ts';
import { textTokens } from './token-estimate.ts';

/** Changes the history: waiting inputs are taken up, and it is compacted when it fills the model's context. */
export function modelMessages(run: Run, call: ModelCall): readonly Message[] {
  const inputs = takeInputs(run);
  if (call.messages) return inputs.length > 0 ? [...call.messages, ...inputs] : call.messages;
  compact(run);
  const { messages, anchors } = run.state;
  return isEmpty(anchors) ? messages : [...messages, anchorMessage(anchors)];
}

function takeInputs(run: Run): Message[] {
  const { state } = run;
  if (state.inputs.length === 0) return [];
  const said = state.inputs.map(({ content }): Message => ({ role: 'user', content }));
  const { answer } = state;
  if (answer) state.answer = { ...answer, inputs: [...answer.inputs, ...state.inputs.map(({ id }) => id)] };
  state.inputs = [];
  state.messages = [...state.messages, ...said];
  return said;
}

function compact(run: Run): void {
  const { context_tokens, threshold, keep_recent } = run.agent.compaction;
  const fixed = textTokens(run.agent.system_prompt) + anchorTokens(run.state.anchors);
  const compacted = compactHistory(run.state.messages, {
    limitTokens: Math.max(1, Math.floor(context_tokens * threshold) - fixed),
    keepRecent: keep_recent,
  });
  if (!compacted) return;
  run.state.messages = compacted.messages;
  count(run, 'compactions');
  const { removed, shortened } = compacted;
  run.log.push({ level: 'info', message: 'the history was compacted', details: { removed, shortened } });
}

/** Anchors are no part of the history, so nothing can push them out of the model's sight. */
function anchorMessage(anchors: Readonly<Record<string, string>>): Message {
  const parts = Object.entries(anchors).map(([key, content]) => `[CONTEXT ANCHOR ${key}]\n${content}`);
  return { role: 'user', content: parts.join('\n\n') };
}

function anchorTokens(anchors: Readonly<Record<string, string>>): number {
  return isEmpty(anchors) ? 0 : textTokens(JSON.stringify(anchors));
}
