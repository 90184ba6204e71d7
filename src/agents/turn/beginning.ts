// The first turn of a run: its agent, its tools, its place in the conversation; or why it cannot begin.
// Must never begin a run while an earlier run of its conversation is under way.
import { PayloadUnreadable } from '../../contract/encrypted/encrypted.ts';
import { encodedMessages } from '../../contract/encrypted/encrypted-run.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { ownId, scopedAs, tenantOf } from '../../contract/access/tenant.ts';
import { expiredError } from '../../contract/directive/cancellation.ts';
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import type { ConversationJournal } from '../../store/run/conversation-journal.ts';
import type { RunJournal } from '../../store/run/run-journal.ts';
import type { Agents } from '../../store/catalog/known-agents.ts';
import { BEHIND_LOOK_MS } from '../../directives/sweep/sweep-decision.ts';
import { type BrokenRunParts, freed, guarded, refusalOf, type RunFailure } from './broken-run.ts';
import { limitsOf } from '../overrides.ts';
import type { StoredRun } from './run-store.ts';
import { openHistory } from '../encryption/run-vault.ts';
import type { JsonObject, RunSpec, Transition } from './transition.ts';

export interface BeginningParts extends BrokenRunParts {
  agents: Agents;
  /** null: the engine stops before the tools are known. */
  toolsOf: (agent: AgentDefinition, tenant: string) => Promise<ListedTool[] | null>;
  conversations: ConversationJournal;
  runs: RunJournal;
  /** Asks another run to end in favour of this one. */
  interrupt(requestId: string, reason: string): Promise<void>;
}

export type Beginning =
  | { kind: 'begun' | 'refused'; spec: RunSpec; transition: Transition }
  /** Waits for its place in the conversation, or for another engine; checked again at the latest then, ms since the epoch. */
  | { kind: 'waiting'; until: number };

export async function begin(parts: BeginningParts, run: StoredRun): Promise<Beginning> {
  const { spec } = run;
  const agent = await parts.agents.find(spec.agent, tenantOf(run.requestId));
  if (!agent) return refused(parts, run, await unknownAgent(parts, run));
  const cancelled = run.signals.find(({ type }) => type === 'ai.request.cancel_requested');
  if (cancelled) return refused(parts, run, { reason: 'cancelled', message: 'cancelled before it began' });
  const { begin: set, now } = run;
  if (run.behind !== null) return { kind: 'waiting', until: now + BEHIND_LOOK_MS };
  if (set !== null && set.at > now) return { kind: 'waiting', until: set.at };
  const by = set?.by ?? null;
  if (set !== null && by !== null && by <= now) return refused(parts, run, tooLate(by - set.at));
  if (spec.conversation_id === null) return begun(parts, run, agent, spec);
  return inTurn(parts, run, agent, spec.conversation_id);
}

function tooLate(startByMs: number): RunFailure {
  const { type: reason, message, details } = expiredError(startByMs);
  return { reason, message, details };
}

async function unknownAgent({ agents }: BeginningParts, run: StoredRun): Promise<RunFailure> {
  const name = run.spec.agent;
  const known = (await agents.names(tenantOf(run.requestId))).slice(0, 100);
  return { reason: 'unknown_agent', message: `there is no agent "${name}"`, details: { known } };
}

/** `messages`: the new history of its conversation; null = unchanged. */
function refused(
  parts: BeginningParts,
  run: StoredRun,
  error: RunFailure,
  messages: readonly JsonObject[] | null = null,
): Beginning {
  const { spec } = run;
  return { kind: 'refused', spec, transition: freed(spec, refusalOf(parts, run, spec, error), messages) };
}

async function begun(
  parts: BeginningParts,
  run: StoredRun,
  agent: AgentDefinition,
  spec: RunSpec,
): Promise<Beginning> {
  const tools = await parts.toolsOf(agent, tenantOf(run.requestId));
  if (tools === null) return { kind: 'waiting', until: run.now };
  const setup = { agent, tools };
  const begin = (): Transition => parts.core.begin(spec, setup, run.now);
  return { kind: 'begun', spec, transition: guarded(parts, run, begin, (end) => end) };
}

async function inTurn(
  parts: BeginningParts,
  run: StoredRun,
  agent: AgentDefinition,
  conversationId: string,
): Promise<Beginning> {
  const { spec, requestId, now } = run;
  const policy = spec.overrides.busy ?? agent.policies.busy;
  const entry = await parts.conversations.enter(
    scopedAs(requestId, conversationId),
    requestId,
    policy !== 'reject',
  );
  if (entry.kind === 'active') {
    const history = await openedHistory(run, conversationId, entry.messages);
    if (history === 'locked') return refused(parts, run, lockedHistory(conversationId));
    if (!isHistory(history)) return withoutHistory(parts, run, conversationId);
    return begun(parts, run, agent, { ...spec, messages: [...history, ...spec.messages] });
  }
  if (await isGone(parts, entry.active)) {
    await parts.conversations.leave(scopedAs(requestId, conversationId), entry.active, null);
    return inTurn(parts, run, agent, conversationId);
  }
  if (entry.kind === 'busy') return refused(parts, run, busy(conversationId, ownId(entry.active)));
  const until = spec.started_at + limitsOf(agent, spec.overrides).deadline_ms;
  if (until <= now)
    return refused(parts, run, { reason: 'deadline', message: 'the conversation was not free in time' });
  if (policy === 'interrupt')
    await parts.interrupt(entry.active, `interrupted by the request "${ownId(requestId)}"`);
  return { kind: 'waiting', until: Math.min(until, run.begin?.by ?? Infinity) };
}

/** A run that is resumed takes its place in the conversation again; why it cannot, or undefined. */
export async function reenter(
  { conversations }: Pick<BeginningParts, 'conversations'>,
  { spec, requestId, document }: StoredRun,
): Promise<RunFailure | undefined> {
  const { conversation_id: id } = spec;
  if (id === null || document === null) return undefined;
  const entry = await conversations.enter(scopedAs(requestId, id), requestId, false);
  if (entry.kind !== 'active') return busy(id, ownId(entry.active));
  const isSame = JSON.stringify(entry.messages) === JSON.stringify(document.inner['messages']);
  if (isSame || entry.messages?.length === 0) return undefined;
  const message = `a later run of the conversation "${id}" has gone on from here; start a new run in it`;
  return { reason: 'conversation_changed', message };
}

type History = readonly JsonObject[] | null;

/** `locked`: an encrypted run has written it, and this one does not have its key. It stays as it is. */
async function openedHistory(
  { seal }: StoredRun,
  conversationId: string,
  messages: History,
): Promise<History | 'locked'> {
  const encoded = Array.isArray(messages) && messages.every(isObject) ? encodedMessages(messages) : null;
  if (encoded === null) return messages;
  if (seal === null) return 'locked';
  try {
    return await openHistory(seal, conversationId, encoded);
  } catch (error) {
    if (error instanceof PayloadUnreadable) return 'locked';
    throw error;
  }
}

function lockedHistory(conversationId: string): RunFailure {
  const message = `the messages of the conversation "${conversationId}" are encrypted: only a run that is encrypted, with a key that its engine has, can go on with it`;
  return { reason: 'decryption_key_missing', message };
}

/** Checks only what a run needs in order to begin. */
function isHistory(messages: readonly JsonObject[] | null): messages is readonly JsonObject[] {
  const isMessage = (value: JsonObject): boolean =>
    isObject(value) &&
    [value['tool_calls'] ?? []].every((calls) => Array.isArray(calls) && calls.every(isObject));
  return Array.isArray(messages) && messages.every(isMessage);
}

/** An unreadable history would end all later runs, too: the next one starts without it. */
function withoutHistory(parts: BeginningParts, run: StoredRun, conversationId: string): Beginning {
  const message = `the history of the conversation "${conversationId}" cannot be read; its next run starts a new one`;
  return refused(parts, run, { reason: 'internal_error', message }, []);
}

function busy(conversationId: string, active: string): RunFailure {
  const message = `the conversation "${conversationId}" is busy with the request "${active}"`;
  return { reason: 'busy', message, details: { active } };
}

/** A run that ended leaves the conversation itself; a lost one never does (a failover may lose the last writes). */
async function isGone({ runs }: BeginningParts, requestId: string): Promise<boolean> {
  const head = await runs.head(requestId);
  return head === null || (head.ended && head.outbox === 0);
}
