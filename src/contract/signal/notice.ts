// The deliveries of the notice of an end, for a reader of the ended work. Never shows an address: an endpoint has a
// name, and an address of a caller is in the delivery.
import * as z from 'zod';
import { requestPath } from '../api-path.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';

/** Schema of a delivery to a webhook. */
export const noticeSchema = z.object({
  endpoint: z
    .string()
    .nullable()
    .describe(
      "Name of the endpoint, or `url:` with a hash of the caller's address; null: no delivery has been accepted yet.",
    ),
  status: z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/)
    .describe(
      'State of the delivery. `waiting`: another attempt follows. `delivered`. `dead`: failed, and listed as a dead letter. `failed`: ended otherwise, for example cancelled. A later version may add others.',
    ),
  attempts: z.int().min(0).describe('Number of attempts.'),
  next_attempt_at: instantSchema
    .nullable()
    .describe('Instant (UTC) of the next attempt; null: immediately, or never.'),
  ended_at: instantSchema.nullable().describe('Instant (UTC) of the end; null: not ended.'),
  error: z
    .string()
    .nullable()
    .describe('Type of the error that ended the delivery; null: not ended, or without an error.'),
  reason: z
    .string()
    .max(512)
    .optional()
    .describe(
      'Reason why the event is not delivered: its last failure, or a wait, at most 512 characters. Absent: no attempt has failed.',
    ),
  request_id: identifierSchema.describe("Id of the delivery's request; after a redrive the newest."),
  id: identifierSchema
    .nullable()
    .describe("Id of the delivery's directive; null: no delivery has been accepted yet."),
  url: z.string().describe('Path of the delivery at the API.'),
});

/** Schema of the deliveries in a view. Absent: no receiver, or not ended. */
export const noticeFields = {
  notices: z.array(noticeSchema).optional().describe('Deliveries of the end to webhooks. Absent: none.'),
};

/** Delivery to a webhook. */
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
