// Reads what the journal holds of a request and its directives.
// Must never write.
import { withIds } from './envelope.ts';
import { redisClock } from '../../platform/redis/clock.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { cancelNote, type ClaimNote, claimNotes, type TurnNote, turnNotes } from './history.ts';
import {
  directiveFields,
  directiveRecord,
  directiveRecords,
  requestRecord,
  type DirectiveRecord,
  type RequestRecord,
} from './records.ts';

export interface RequestHistory {
  record: RequestRecord;
  /** In the order of acceptance. */
  directives: DirectiveRecord[];
  turns: TurnNote[];
  claimsOf(directive: DirectiveRecord): ClaimNote[];
  /** Milliseconds since the epoch; null: no cancellation was requested while it ran. */
  cancelAskedAt(id: string): number | null;
  /** When it was read: milliseconds since the epoch, by the clock of Redis. */
  now: number;
}

export interface StoredRequest {
  record: RequestRecord;
  directives: DirectiveRecord[];
}

/** Fields that Redis gives at once. */
const FIELDS_AT_ONCE = 1_000;
const HEAD_FIELDS = ['status', 'seq', 'open', 'created_at', 'closed_at'];

export function createRecordReader(connection: RedisConnection, keys: KeySpace) {
  const now = redisClock(connection);

  /** Why a running directive was cancelled; null: no reason was given, or it was not cancelled. */
  async function cancelReason(requestId: string, id: string): Promise<string | null> {
    const [state] = keys.request(requestId);
    return (await connection.hget(state, `${id}|cancel`)) || null;
  }

  async function directive(requestId: string, id: string): Promise<DirectiveRecord | null> {
    const [state] = keys.request(requestId);
    return directiveRecord(id, await connection.hmget(state, ...directiveFields(id)));
  }

  /** The envelope JSON of a directive as it was accepted; null when unknown. */
  async function envelope(requestId: string, id: string): Promise<string | null> {
    const [, bodies] = keys.request(requestId);
    const text = await connection.hget(bodies, id);
    return text && withIds(text, requestId, id);
  }

  async function request(requestId: string): Promise<StoredRequest | null> {
    const [state] = keys.request(requestId);
    const fields = await connection.hgetall(state);
    const record = requestRecord(fields);
    return record && { record, directives: directiveRecords(fields) };
  }

  /**
   * Like `request`, in parts, so that a large one does not block Redis. Changes meanwhile may be in it or not, after
   * the head.
   */
  async function requestInPieces(requestId: string): Promise<StoredRequest | null> {
    const [state] = keys.request(requestId);
    const record = await head(requestId);
    const fields: Record<string, string> = {};
    let cursor = '0';
    do {
      const [next, found] = await connection.hscan(state, cursor, 'COUNT', FIELDS_AT_ONCE);
      for (let at = 0; at < found.length; at += 2) fields[found[at] ?? ''] = found[at + 1] ?? '';
      cursor = next;
    } while (record !== null && cursor !== '0');
    return record && { record, directives: directiveRecords(fields) };
  }

  /** The request, and when each claim and turn of it began and ended. */
  async function history(requestId: string): Promise<RequestHistory | null> {
    const [state] = keys.request(requestId);
    const [fields, readAt] = await Promise.all([connection.hgetall(state), now()]);
    const record = requestRecord(fields);
    if (record === null) return null;
    return {
      record,
      directives: directiveRecords(fields),
      turns: turnNotes(fields),
      claimsOf: (directive) => claimNotes(fields, directive),
      cancelAskedAt: (id) => cancelNote(fields, id),
      now: readAt,
    };
  }

  /** The request's own record without its directives; cheap however many there are. */
  async function head(requestId: string): Promise<RequestRecord | null> {
    const [state] = keys.request(requestId);
    const values = await connection.hmget(state, ...HEAD_FIELDS);
    return requestRecord(
      Object.fromEntries(HEAD_FIELDS.map((field, index) => [field, values[index] ?? undefined])),
    );
  }

  return { cancelReason, directive, envelope, request, requestInPieces, history, head, now };
}
