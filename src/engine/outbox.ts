// What a run asks for outside its request: children, other runs, cancellations, the end of a conversation.
// Must never do an entry so that a repeat does it again.
import type { ConversationJournal } from '../journal/conversation-journal.ts';
import type { Canceller } from '../queue/cancel.ts';
import type { Acknowledgement } from './fold.ts';
import type { Spans } from '../telemetry/spans.ts';
import { turnContext } from './run-place.ts';
import type { RunStarter } from './run-start.ts';
import type { StoredRun } from './run-store.ts';
import type { RunNotifier } from './run-notifier.ts';
import type { OutboxEntry } from './transition.ts';

export interface OutboxParts {
  starter: RunStarter;
  notifier: RunNotifier;
  canceller: Canceller;
  conversations: ConversationJournal;
  spans: Spans;
  /** Wakes another run; returns at once. */
  wakeRun(requestId: string): void;
}

type Entry<K extends OutboxEntry['kind']> = Extract<OutboxEntry, { kind: K }>;

/** Does every entry of the run's outbox, in order. Rejects when Redis does not answer; a repeat is safe. */
export async function performOutbox(parts: OutboxParts, run: StoredRun): Promise<Acknowledgement[]> {
  const done: Acknowledgement[] = [];
  for (const entry of run.document?.outbox ?? [])
    done.push({ id: entry.id, failure: await perform(parts, run, entry) });
  return done;
}

/** null, or why it can never be done. */
async function perform(parts: OutboxParts, run: StoredRun, entry: OutboxEntry): Promise<string | null> {
  switch (entry.kind) {
    case 'start_child':
      return startChild(parts, run, entry);
    case 'signal_run':
      return signalRun(parts, run, entry);
    case 'cancel_directives':
      await parts.canceller.cancelEach(run.requestId, entry.directive_ids, entry.reason);
      return null;
    case 'withdraw_directives':
      await parts.canceller.withdraw(run.requestId, entry.directive_ids, entry.reason);
      return null;
    case 'cancel_request':
      await parts.notifier.cancel(entry.request_id, entry.reason);
      await parts.canceller.cancel(entry.request_id, undefined, entry.reason, entry.asked_at);
      return null;
    case 'end_conversation':
      return endConversation(parts, run, entry);
  }
}

async function startChild(
  { starter, spans }: OutboxParts,
  run: StoredRun,
  { child_request_id, agent, input, tag, depth, overrides }: Entry<'start_child'>,
): Promise<string | null> {
  const query = typeof input === 'string' ? input : JSON.stringify(input ?? null);
  const child = { request_id: child_request_id, agent, query, overrides, metadata: {} };
  const parent = { request_id: run.requestId, tag, depth };
  // Of the turn that asked for it, which is written; another engine may have written it.
  const context = turnContext(spans, run, run.version);
  const started = await starter.start(child, context, parent);
  if (started.ok) return null;
  return started.refusal.detail ?? started.refusal.title;
}

async function signalRun(
  { notifier }: OutboxParts,
  { requestId, traceparent }: StoredRun,
  { id, request_id: target, signal }: Entry<'signal_run'>,
): Promise<string | null> {
  const name = `signal:${requestId}/${id}`;
  const origin = { cause: signal.cause ?? requestId, traceparent };
  const verdict = await notifier.notify(target, { name, digest: '', limit: null, signal }, origin);
  return verdict.kind === 'sent' || verdict.kind === 'existing'
    ? null
    : `the run "${target}" is ${verdict.kind}`;
}

async function endConversation(
  { conversations, wakeRun }: OutboxParts,
  { requestId }: StoredRun,
  { conversation_id, messages }: Entry<'end_conversation'>,
): Promise<null> {
  const following = await conversations.leave(conversation_id, requestId, messages);
  if (following !== null) wakeRun(following);
  return null;
}
