// Conversations in Redis: whose turn it is, who waits, and the messages so far.
// Must never know what a run does with its turn.
import { closedMsOf, type LimitsOfTenant, NO_TENANT_LIMITS } from '../../contract/access/tenant-limits.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';

type Message = Record<string, unknown>;

export type Entry =
  /** `messages` null: they are damaged. */
  | { kind: 'active'; messages: Message[] | null }
  /** `active`: the request whose run goes on. */
  | { kind: 'waiting' | 'busy'; active: string };

export interface ConversationJournalOptions {
  connection: RedisConnection;
  keys: KeySpace;
  /** How long the history of a conversation without a run stays, milliseconds. */
  retentionMs: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
}

export type ConversationJournal = ReturnType<typeof createConversationJournal>;

/** The longest deadline of a run. A conversation whose run is lost without a trace is free after that. */
const LONGEST_RUN_MS = 2_147_483_647;

export function createConversationJournal(options: ConversationJournalOptions) {
  const { connection, keys, limitsOf = NO_TENANT_LIMITS } = options;
  const run = prepareScripts(connection);
  const retentionOf = (id: string): number => closedMsOf(limitsOf, id, options.retentionMs);
  const keptMs = (id: string): number => LONGEST_RUN_MS + retentionOf(id);

  return {
    /** Asked again, it is the same entry. `wait` false: a busy conversation is left alone. */
    async enter(conversationId: string, requestId: string, wait: boolean): Promise<Entry> {
      const args = [requestId, wait ? 1 : 0, keptMs(conversationId)];
      const [kind, rest] = await run('conversation-enter', keys.conversation(conversationId), args);
      if (kind !== 'active') return { kind: kind as 'waiting' | 'busy', active: String(rest) };
      return { kind, messages: rest === '' ? [] : readMessages(String(rest)) };
    },
    /** `messages` null: the history stays. Returns the request that has the turn now, null = none. */
    async leave(
      conversationId: string,
      requestId: string,
      messages: readonly Message[] | null,
    ): Promise<string | null> {
      const args = [
        requestId,
        messages === null ? '' : JSON.stringify(messages),
        retentionOf(conversationId),
        keptMs(conversationId),
      ];
      const [active] = await run('conversation-leave', keys.conversation(conversationId), args);
      return String(active) || null;
    },
  };
}

function readMessages(json: string): Message[] | null {
  try {
    return JSON.parse(json) as Message[];
  } catch {
    return null;
  }
}
