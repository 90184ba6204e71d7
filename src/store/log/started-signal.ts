// The signal that says that the first attempt of a directive has begun.
// Must never be said of a later attempt: it is in the log once.
import type { Directive } from '../../contract/directive/directive.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import { draftSignal } from './signal-draft.ts';
import { directiveMetadata } from './terminal-signal.ts';

/** `traceparent`: of the envelope. */
export function startedSignal(
  directive: Directive,
  data: SignalDraft['data'],
  traceparent: string,
): SignalDraft {
  const { request_id: requestId, id: causationId } = directive;
  const withMetadata = { ...data, metadata: directiveMetadata(directive) } as never;
  return draftSignal('ai.tool.started', withMetadata, { requestId, causationId, traceparent, attempt: 1 });
}
