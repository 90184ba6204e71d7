// The effects of a run outside its request: children, other runs, cancellations, the end of a conversation. A repeat of
// an entry has no second effect.
import { ownId, scopedAs } from '../../contract/access/tenant.ts';
import type { ConversationJournal } from '../../store/run/conversation-journal.ts';
import type { Canceller } from '../../directives/change/cancel.ts';
import { encryptRun } from '../../platform/encryption/encrypted-run.ts';
import type { Acknowledgement } from './fold.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { sealHistory, sealSignal } from '../encryption/run-seal.ts';
import type { RunStarter } from '../run-start.ts';
import type { StoredRun } from './run-store.ts';
import type { RunNotifier } from '../run-notifier.ts';
import type { OutboxEntry, RunSpec } from './transition.ts';
import { turnContext } from '../run-spans.ts';

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

/** The ids of entries are as the run's tenant knows them: an agent reaches nothing of another's. Does every entry of the run's outbox, in order. Rejects when Redis does not answer; a repeat is safe. */
export async function performOutbox(parts: OutboxParts, run: StoredRun): Promise<Acknowledgement[]> {
  const done: Acknowledgement[] = [];
  for (const entry of run.document?.outbox ?? [])
    done.push({ id: entry.id, failure: await perform(parts, run, await sealedEntry(run, entry)) });
  return done;
}

/** Nothing of an encrypted run leaves it in clear. What a child is asked is encrypted as it is started. */
async function sealedEntry({ seal, document }: StoredRun, entry: OutboxEntry): Promise<OutboxEntry> {
  if (seal === null || document === null) return entry;
  switch (entry.kind) {
    case 'signal_run':
      return { ...entry, signal: await sealSignal(seal, entry.signal, document, entry.request_id) };
    case 'cancel_request':
      return { ...entry, reason: 'asked for by an encrypted run' };
    case 'end_conversation':
      return { ...entry, messages: entry.messages && (await sealHistory(seal, entry)) };
    case 'start_child':
    case 'cancel_directives':
    case 'withdraw_directives':
      return entry;
  }
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
      return cancelRequest(parts, scopedAs(run.requestId, entry.request_id), entry);
    case 'end_conversation':
      return endConversation(parts, run, entry);
  }
}

async function cancelRequest(
  { notifier, canceller }: OutboxParts,
  target: string,
  { reason, asked_at }: Entry<'cancel_request'>,
): Promise<null> {
  await notifier.cancel(target, reason);
  await canceller.cancel(target, undefined, reason, asked_at);
  return null;
}

async function startChild(
  { starter, spans }: OutboxParts,
  run: StoredRun,
  { child_request_id, agent, input, tag, depth, overrides }: Entry<'start_child'>,
): Promise<string | null> {
  const query = typeof input === 'string' ? input : JSON.stringify(input ?? null);
  const asked = { request_id: child_request_id, agent, query, overrides, metadata: {}, ...run.spec.flow };
  const child = {
    ...(run.seal === null ? asked : await encryptRun(run.seal.codec, asked, run.seal.keyId)),
    request_id: scopedAs(run.requestId, child_request_id),
  };
  const parent = { request_id: ownId(run.requestId), tag, depth };
  // Of the turn that asked for it, which is written; another engine may have written it.
  const context = turnContext(spans, run, run.version);
  const { spender, origin } = run.spec;
  const started = await starter.start(child, context, { parent, spender, origin: inherited(origin) });
  if (started.ok) return null;
  return started.refusal.detail ?? started.refusal.title;
}

/** The children of a fork keep the rules of its tools, without a record: their calls are not those of the original. */
function inherited(origin: RunSpec['origin']): RunSpec['origin'] {
  return origin?.tools && { ...origin, tools: { ...origin.tools, record: [] } };
}

async function signalRun(
  { notifier }: OutboxParts,
  { requestId, traceparent }: StoredRun,
  { id, request_id: target, signal }: Entry<'signal_run'>,
): Promise<string | null> {
  const name = `signal:${ownId(requestId)}/${id}`;
  const origin = { cause: signal.cause ?? ownId(requestId), traceparent };
  const verdict = await notifier.notify(
    scopedAs(requestId, target),
    { name, digest: '', limit: null, signal },
    origin,
  );
  return verdict.kind === 'sent' || verdict.kind === 'existing'
    ? null
    : `the run "${target}" is ${verdict.kind}`;
}

async function endConversation(
  { conversations, wakeRun }: OutboxParts,
  { requestId }: StoredRun,
  { conversation_id, messages }: Entry<'end_conversation'>,
): Promise<null> {
  const following = await conversations.leave(scopedAs(requestId, conversation_id), requestId, messages);
  if (following !== null) wakeRun(following);
  return null;
}
