// The data and the id of a BullMQ job: the identity of its directive, and the directive itself if it is small.
// Must never hold what the journal does not: a job may be lost, and enqueued again at any time.
import { hash } from 'node:crypto';
import type { Envelope } from '../store/request/envelope.ts';

/** Bodies above this are read from the journal instead of travelling in the job. */
export const MAX_INLINE_BYTES = 32_768;

/**
 * The data of a job. `envelope` is absent for large directives. Where one script accepts and enqueues, it is absent in Redis, and
 * comes with the claim if the directive is small.
 */
export interface JobData {
  request_id: string;
  id: string;
  digest: string;
  envelope?: Envelope;
}

/** Whether it is the data of a job of ours: tools of BullMQ add and change others. */
export function isJobData(data: unknown): data is JobData {
  const { request_id, id, digest } = Object(data) as Partial<Record<keyof JobData, unknown>>;
  return [request_id, id, digest].every((word) => typeof word === 'string');
}

/** The directive that travels in a job; undefined: it does not. A job from a lane says the ids once, outside of it. */
export function envelopeIn({ request_id, id, envelope }: JobData): Envelope | undefined {
  return envelope && { ...envelope, directive: { ...envelope.directive, request_id, id } };
}

/** Of base64url: 120 bits, so that nobody finds other ids with the job id of somebody else's directive. */
const JOB_ID_CHARACTERS = 20;

/**
 * The job's id, which `job_id` of include-job-data.lua makes too. Each move of the job writes it, so it is shorter than what it stands for,
 * which the data names. It begins with a letter: BullMQ refuses numbers, and ':'.
 */
export function jobId(requestId: string, directiveId: string): string {
  return `d${hash('sha1', `${requestId}/${directiveId}`, 'base64url').slice(0, JOB_ID_CHARACTERS)}`;
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
