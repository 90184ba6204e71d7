// The messages of a model call: the history, inputs since the last call, the anchors.
// Must never lose an input: it becomes part of the history here.
import type { Message } from '../../contract/model/message.ts';
import type { ModelCall } from '../strategies/strategy.ts';
import { type Compacted, compactHistory, type CompactionLimits, compactRefused } from './compaction.ts';
import { count, isEmpty, type Run } from './run-state.ts';
import { textTokens } from './token-estimate.ts';

/** Changes the history: adds waiting inputs, and compacts it when it fills the model's context. */
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
  const messages = state.inputs.map(({ content }): Message => ({ role: 'user', content }));
  const { answer } = state;
  if (answer) state.answer = { ...answer, inputs: [...answer.inputs, ...state.inputs.map(({ id }) => id)] };
  state.inputs = [];
  state.messages = [...state.messages, ...messages];
  return messages;
}

function compact(run: Run): void {
  const compacted = compactHistory(run.state.messages, compactionLimits(run));
  if (compacted) run.state.messages = logged(run, compacted);
}

/** The history, shortened after a provider has refused it as too long; null when it cannot be shorter. */
export function shortenHistory(run: Run): readonly Message[] | null {
  const compacted = compactRefused(run.state.messages, compactionLimits(run));
  return compacted && logged(run, compacted);
}

function compactionLimits(run: Run): CompactionLimits {
  const { context_tokens, threshold, keep_recent } = run.agent.compaction;
  const fixed = textTokens(run.agent.system_prompt) + anchorTokens(run.state.anchors);
  return {
    limitTokens: Math.max(1, Math.floor(context_tokens * threshold) - fixed),
    keepRecent: keep_recent,
  };
}

function logged(run: Run, { messages, removed, shortened }: Compacted): readonly Message[] {
  count(run, 'compactions');
  run.log.push({ level: 'info', message: 'the history was compacted', details: { removed, shortened } });
  return messages;
}

/** Anchors are not part of the history, so compaction never removes them. */
function anchorMessage(anchors: Readonly<Record<string, string>>): Message {
  const parts = Object.entries(anchors).map(([key, content]) => `[CONTEXT ANCHOR ${key}]\n${content}`);
  return { role: 'user', content: parts.join('\n\n') };
}

function anchorTokens(anchors: Readonly<Record<string, string>>): number {
  return isEmpty(anchors) ? 0 : textTokens(JSON.stringify(anchors));
}
