// Reads what the journal holds of a request and its directives.
// Must never write.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';
import {
  directiveFields,
  directiveRecord,
  directiveRecords,
  requestRecord,
  type DirectiveRecord,
  type RequestRecord,
} from './records.ts';

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

  /** The request's own record without its directives; cheap however many there are. */
  async function head(requestId: string): Promise<RequestRecord | null> {
    const [state] = keys.request(requestId);
    const values = await connection.hmget(state, ...HEAD_FIELDS);
    return requestRecord(
      Object.fromEntries(HEAD_FIELDS.map((field, index) => [field, values[index] ?? undefined])),
    );
  }

  return { cancelReason, directive, envelope, request, head };
}
