// The members `operation` and `origin` of the vocabulary of metadata (contract.md §5): in signals, spans and metrics.
// Must never depend on what a caller says: the type of the directive decides.
import type { Directive } from './directive.ts';
import { ownMember } from './own-member.ts';

/** `action`: the call of a model that a tool asked for while it worked. */
export type CallOrigin = 'directive' | 'action' | 'worker_runtime';

const OPERATIONS: Readonly<Partial<Record<Directive['type'], string>>> = {
  tool_exec: 'tool_execute',
  llm_stream: 'stream_text',
  llm_generate: 'generate_text',
  llm_embed: 'embed',
};

/** Members `operation` and `origin` of metadata, spans and metrics. */
export interface CallVocabulary {
  /** Absent: a type without an operation of its own. */
  readonly operation?: string;
  readonly origin: CallOrigin;
}

/** The members `operation` and `origin` for a type of directive. */
export function callVocabulary(type: Directive['type']): CallVocabulary {
  const operation = ownMember(OPERATIONS, type);
  const origin = type === 'tool_exec' ? 'worker_runtime' : 'directive';
  return { ...(operation === undefined ? {} : { operation }), origin };
}
