// The data, options and id of a BullMQ job: its directive, and the facts for a dashboard. Never holds arguments,
// context or secrets, nor anything that the journal does not hold: a job may be lost, and enqueued again at any time.
import { ownId } from '../contract/access/tenant.ts';
import { hash } from 'node:crypto';
import { DEFAULT_PRIORITY } from '../contract/directive/flow.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { boundedText } from '../contract/json/json-safe.ts';
import { modelLane, parseModelName } from '../contract/model/model-name.ts';
import { ticketNow } from './flow/ticket.ts';
import { decodeEnvelope, type Envelope } from '../store/request/envelope.ts';
import type { Journal } from '../store/request/journal.ts';
import type { DirectiveRecord } from '../store/request/records.ts';

/** Facts of a directive as its caller gave them; absent: the directive does not have them. `attempt`: the one that runs or comes next. */
export interface JobFacts {
  type: string;
  /** `server.name` of a tool. */
  tool: string;
  /** Agent of a run. */
  agent: string;
  /** Version of a run that this turn begins from. */
  version: number;
  /** `provider:model` that is asked next. */
  model: string;
  timeout_ms: number;
  max_retries: number;
  retry_backoff_ms: number;
  backoff: string;
  max_backoff_ms: number;
  jitter: number;
  attempt: number;
  priority: number;
  traceparent: string;
  /** Milliseconds since the epoch. The last member: the script that accepts the directive appends it. */
  deadline_at: number;
}

export interface JobData extends Partial<JobFacts> {
  request_id: string;
  id: string;
  digest: string;
  /** It has left the gate of its lane, which is asked again before its claim. */
  gated?: true;
  /** Comes with the claim of a small directive, and is never in Redis. */
  envelope?: Envelope;
}

/** Whether it is the data of a directive's or a run's job: BullMQ's tools add and change others. */
export function isJobData(data: unknown): data is JobData {
  const { request_id, id, digest } = Object(data) as Partial<Record<keyof JobData, unknown>>;
  return [request_id, id, digest].every((word) => typeof word === 'string');
}

/** The directive that came with the claim of a job; undefined: it is read from the journal. The job names its ids. */
export function envelopeIn({ request_id, id, envelope }: JobData): Envelope | undefined {
  return envelope && { ...envelope, directive: { ...envelope.directive, request_id, id } };
}

/** Characters of base64url: 120 bits, so that no caller finds an id with the job id of another directive. */
const JOB_ID_CHARACTERS = 20;

/**
 * The job's id, which `job_id` of include-job-data.lua makes too. Each move of the job writes it, so it is shorter than
 * the ids that it represents, which are in the data. It begins with a letter: BullMQ refuses numbers, and ':'.
 */
export function jobId(requestId: string, directiveId: string): string {
  return `d${hash('sha1', `${requestId}/${directiveId}`, 'base64url').slice(0, JOB_ID_CHARACTERS)}`;
}

/** Facts of a directive beside its envelope. */
interface JobState {
  digest: string;
  lane: string | null;
  /** Default: the first. */
  attempt?: number;
  /** Default: it is not known yet. */
  deadlineAt?: number;
  /** Default: the first of the envelope's. */
  model?: string | undefined;
  /** The priority as it was changed while it waited; null: as it was accepted. */
  priority?: number | null;
}

/** The job data of an accepted directive. */
export function jobDataOf(envelope: Envelope, state: JobState): JobData {
  const { directive, traceparent } = envelope;
  const { digest, lane, attempt = 1, deadlineAt, priority = null } = state;
  const given: Readonly<Record<string, unknown>> = { ...directive };
  const ticket = lane === null ? null : ticketNow(envelope, lane, priority);
  return {
    request_id: directive.request_id,
    id: directive.id,
    digest,
    ...(ticket === null ? {} : { gated: true }),
    type: directive.type,
    ...servedBy(directive.type, given, { lane, model: state.model ?? modelIn(envelope, lane) }),
    ...retryFactsOf(given),
    attempt,
    priority: ticket?.priority ?? DEFAULT_PRIORITY,
    traceparent,
    ...(deadlineAt === undefined ? {} : { deadline_at: deadlineAt }),
  };
}

/** The first model of the lane's provider. */
function modelIn({ models = [] }: Envelope, lane: string | null): string | undefined {
  return models.find((model) => modelLane(parseModelName(model)?.provider ?? '') === lane) ?? models[0];
}

const TOOL_LANE = 'tool.';

function servedBy(
  type: string,
  given: Readonly<Record<string, unknown>>,
  { lane, model }: { lane: string | null; model: string | undefined },
): Partial<JobFacts> {
  if (model !== undefined) return { model };
  const name = given['tool_name'];
  if (type !== 'tool_exec' || typeof name !== 'string') return {};
  const server = lane?.startsWith(TOOL_LANE) ? `${ownId(lane.slice(TOOL_LANE.length))}.` : '';
  return { tool: name.startsWith(server) ? name : `${server}${name}` };
}

const RETRY_NUMBERS = ['timeout_ms', 'max_retries', 'retry_backoff_ms', 'max_backoff_ms', 'jitter'] as const;

/** A user's own type may mean something else by these names. */
function retryFactsOf(given: Readonly<Record<string, unknown>>): Partial<JobFacts> {
  const facts: Partial<JobFacts> = {};
  for (const name of RETRY_NUMBERS) {
    const value = given[name];
    if (typeof value === 'number') facts[name] = value;
  }
  const { backoff } = given;
  return backoff === 'fixed' || backoff === 'exponential' ? { ...facts, backoff } : facts;
}

/** BullMQ's options of a job that say the same. BullMQ retries no such job: its end and its delays are decided by the journal. */
export function jobOptionsOf({ max_retries, retry_backoff_ms = 0, backoff = 'fixed', jitter = 0 }: JobData) {
  if (max_retries === undefined) return {};
  return { attempts: max_retries + 1, backoff: { type: backoff, delay: retry_backoff_ms, jitter } };
}

/** Characters of a failed job's reason. */
const LONGEST_FAILURE = 1_024;

/** `failedReason` of a job whose directive ended in an error; the error is that of its signal. */
export function failureText({ type, message }: Pick<ErrorEnvelope, 'type' | 'message'>): string {
  return boundedText(`${type}: ${message}`, LONGEST_FAILURE);
}

/** The job data of an open directive, as the journal has it now; null: it has ended, or is unknown. */
export async function jobInJournal(
  journal: Pick<Journal, 'directive' | 'envelope'>,
  requestId: string,
  id: string,
): Promise<JobData | null> {
  const [record, json] = await Promise.all([
    journal.directive(requestId, id),
    journal.envelope(requestId, id),
  ]);
  if (record === null || json === null || record.terminal !== null) return null;
  return jobOfRecord(decodeEnvelope(json), record);
}

export function jobOfRecord(envelope: Envelope, record: DirectiveRecord): JobData {
  const { digest, lane, fence, released, deadlineAt, priority } = record;
  // A claim that is still held may be that of a worker that died: the attempt that comes is another one.
  const attempt = fence - released + 1;
  return jobDataOf(envelope, { digest, lane, attempt, deadlineAt, priority });
}
