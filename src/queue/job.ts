// The data and the id of a BullMQ job: the identity of its directive, and the directive itself if it is small.
// Must never hold what the journal does not: a job may be lost, and enqueued again at any time.
import type { Envelope } from '../journal/envelope.ts';

/** Bodies above this are read from the journal instead of travelling in the job. */
export const MAX_INLINE_BYTES = 32_768;

/** The data of a job, which include-entrance.lua writes too. `envelope` is absent for large directives. */
export interface JobData {
  request_id: string;
  id: string;
  digest: string;
  envelope?: Envelope;
}

/** The directive that travels in a job; undefined: it does not. A job from a lane says the ids once, outside of it. */
export function envelopeIn({ request_id, id, envelope }: JobData): Envelope | undefined {
  return envelope && { ...envelope, directive: { ...envelope.directive, request_id, id } };
}

/** The job's id, which include-entrance.lua makes too. BullMQ refuses ':', so it becomes '+', which no identifier contains. */
export function jobId(requestId: string, directiveId: string): string {
  return `${requestId}/${directiveId}`.replaceAll(':', '+');
}

/** The job data for an accepted directive; `encodedBytes` is the size of its envelope as JSON. */
export function jobDataFor(envelope: Envelope, digest: string, encodedBytes: number): JobData {
  const { request_id, id } = envelope.directive;
  return encodedBytes > MAX_INLINE_BYTES ? { request_id, id, digest } : { request_id, id, digest, envelope };
}

/** The same for a directive whose body is read from the journal, whatever its size. */
export function withoutEnvelope({ request_id, id, digest }: JobData): JobData {
  return { request_id, id, digest };
}
