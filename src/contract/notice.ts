// How receivers of webhooks are notified of an end, as a reader of what has ended sees it.
// Must never show an address: an endpoint has a name, and an address of a caller stands in the delivery.
import * as z from 'zod';
import { requestPath } from './api-path.ts';
import { identifierSchema, instantSchema } from './identifiers.ts';

export const noticeSchema = z.object({
  /** The endpoint, or `url:` and a hash of an address that the caller gave; null: no delivery is accepted yet. */
  endpoint: z.string().nullable(),
  /**
   * `waiting`: there is another attempt. `delivered`. `dead`: it failed, and is a dead letter. `failed`: it ended otherwise, as
   * cancelled. A later version may name others.
   */
  status: z.string().regex(/^[a-z0-9_]{1,64}$/),
  attempts: z.int().min(0),
  /** When it is tried again; null: at once, or never. */
  next_attempt_at: instantSchema.nullable(),
  ended_at: instantSchema.nullable(),
  /** The type of the error that it ended with; null: it has not, or in none. */
  error: z.string().nullable(),
  /** Why it is not delivered: its newest failure, or what it waits for. Absent: it was not tried in vain. */
  reason: z.string().max(512).optional(),
  /** The request of the delivery, and its directive there; after a redrive the newest. */
  request_id: identifierSchema,
  id: identifierSchema.nullable(),
  url: z.string(),
});

/** Absent: nobody is to be notified, or it has not ended. */
export const noticeFields = { notices: z.array(noticeSchema).optional() };

export type Notice = z.infer<typeof noticeSchema>;

/** `requestId`: of its delivery. */
export function unsentNotice(requestId: string): Notice {
  return {
    endpoint: null,
    status: 'waiting',
    attempts: 0,
    next_attempt_at: null,
    ended_at: null,
    error: null,
    request_id: requestId,
    id: null,
    url: requestPath(requestId),
  };
}
