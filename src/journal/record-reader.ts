// Reads what the journal holds of a request and its directives.
// Must never write.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';
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
  /** Milliseconds since the epoch; null: nobody asked while it ran. */
  cancelAskedAt(id: string): number | null;
  /** When it was read: milliseconds since the epoch, by the clock of Redis. */
  now: number;
}

const HEAD_FIELDS = ['status', 'seq', 'open', 'created_at', 'closed_at'];

export function createRecordReader(connection: RedisConnection, keys: KeySpace) {
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
    return connection.hget(bodies, id);
  }

  async function request(
    requestId: string,
  ): Promise<{ record: RequestRecord; directives: DirectiveRecord[] } | null> {
    const [state] = keys.request(requestId);
    const fields = await connection.hgetall(state);
    const record = requestRecord(fields);
    return record && { record, directives: directiveRecords(fields) };
  }

  /** The request, and when each claim and turn of it began and ended. */
  async function history(requestId: string): Promise<RequestHistory | null> {
    const [state] = keys.request(requestId);
    const [fields, [seconds, microseconds]] = await Promise.all([
      connection.hgetall(state),
      connection.time(),
    ]);
    const record = requestRecord(fields);
    if (record === null) return null;
    return {
      record,
      directives: directiveRecords(fields),
      turns: turnNotes(fields),
      claimsOf: (directive) => claimNotes(fields, directive),
      cancelAskedAt: (id) => cancelNote(fields, id),
      now: Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000),
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

  return { cancelReason, directive, envelope, request, history, head };
}
