/** Tasks of servers: what names one, and what a server says of it, read with limits.
 *  It must never believe a server's clock, nor keep text without a limit. */
import { isObject } from '../../contract/json/json-object.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** A task at its server: all that another process needs to ask for its end. */
export interface TaskRef {
  readonly id: string;
  /** As the server wrote it; null: it did not. A server that counts its tasks gives an id again after a restart. */
  readonly createdAt: string | null;
  /** When we learned of it, milliseconds since the epoch by our clock. */
  readonly begunAt: number;
  /** Where its server was then, as in `ToolCallRequest`: another one is not asked for it. */
  readonly endpoint: string | null;
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** Report of a server about a task. */
export interface TaskReport {
  readonly id: string;
  readonly createdAt: string | null;
  readonly status: TaskStatus;
  readonly message: string | null;
  /** How long the server keeps it, counted from its beginning, milliseconds; null: it does not say. */
  readonly ttlMs: number | null;
  /** How long to wait before the next question, milliseconds, within our limits. */
  readonly pollMs: number;
  /** Result of a completed task. */
  readonly result: unknown;
  /** Error of a failed task. */
  readonly error: unknown;
  /** Questions of a task that waits for answers. */
  readonly inputRequests: unknown;
}

/** Outcome of the request to cancel a task. */
export type Withdrawal =
  /** It has accepted that: whether the task ends, only another question tells. */
  | { readonly kind: 'cancelled' }
  /** Nothing to cancel, or no server to ask. */
  | { readonly kind: 'moot'; readonly reason: string }
  /** The server has not answered: it may be asked again. */
  | { readonly kind: 'away'; readonly reason: string };

/** Ids may be sealed state; they travel in a header, and are kept in the journal. Bytes. */
const MAX_ID_BYTES = 1_024;
const MAX_CREATED_AT = 64;
const MAX_MESSAGE = 1_000;

const DEFAULT_POLL_MS = 1_000;
const MIN_POLL_MS = 250;
const MAX_POLL_MS = 60_000;

const STATUSES: ReadonlySet<unknown> = new Set([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
]);

/** null: not a task, or its id is not one that we send. */
export function readTask(value: unknown): TaskReport | null {
  if (!isObject(value)) return null;
  const { taskId, status, createdAt, statusMessage, result, error, inputRequests } = value;
  // The older protocol names them without a unit.
  const { ttl, ttlMs = ttl, pollInterval, pollIntervalMs = pollInterval } = value;
  if (!isTaskId(taskId) || !STATUSES.has(status)) return null;
  return {
    id: taskId,
    createdAt: typeof createdAt === 'string' ? createdAt.slice(0, MAX_CREATED_AT) : null,
    status: status as TaskStatus,
    message: typeof statusMessage === 'string' ? statusMessage.slice(0, MAX_MESSAGE) : null,
    ttlMs: typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : null,
    pollMs: pollMsOf(pollIntervalMs),
    result,
    error,
    inputRequests,
  };
}

function isTaskId(id: unknown): id is string {
  if (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > MAX_ID_BYTES) return false;
  // oxlint-disable-next-line no-control-regex
  return id.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(id);
}

function pollMsOf(interval: unknown): number {
  const ms = typeof interval === 'number' && !Number.isNaN(interval) ? interval : DEFAULT_POLL_MS;
  return Math.min(Math.max(ms, MIN_POLL_MS), MAX_POLL_MS);
}

/** Whether a report is about this task: neither about another one, nor about one that got the same id later. */
export function isAbout({ id, createdAt }: TaskRef, report: TaskReport): boolean {
  if (report.id !== id) return false;
  return createdAt === null || report.createdAt === null || report.createdAt === createdAt;
}

/**
 * When the server may forget it, milliseconds since the epoch by the local clock; Infinity: unknown. A server that reports
 * it after that keeps it longer, or the clock of the process that wrote it down was ahead: its time is counted again from there.
 */
export function expiryOf(
  { begunAt }: Pick<TaskRef, 'begunAt'>,
  { ttlMs }: Pick<TaskReport, 'ttlMs'>,
  reportedAt: number,
): number {
  if (ttlMs === null) return Infinity;
  return reportedAt < begunAt + ttlMs ? begunAt + ttlMs : reportedAt + ttlMs;
}

/** The next question comes in time for a server that forgets sooner than it wants to be asked. */
export function nextPollMs(pollMs: number, expiresAt: number, now: number): number {
  return Math.min(pollMs, Math.max((expiresAt - now) / 2, MIN_POLL_MS));
}

/** A server that does not answer is asked less and less often. */
export function pollMsAfter(pollMs: number, failures: number): number {
  return Math.min(pollMs * 2 ** Math.min(failures, 10), MAX_POLL_MS);
}

/** Encodes a task for the journal. */
export function encodeTask({ id, createdAt, begunAt, endpoint }: TaskRef): string {
  return JSON.stringify({ id, created_at: createdAt, begun_at: begunAt, endpoint });
}

/** null: written by a later version, or damaged. */
export function decodeTask(text: string): TaskRef | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return null;
    const { id, created_at: createdAt, begun_at: begunAt, endpoint } = value;
    if (!isTaskId(id) || typeof begunAt !== 'number') return null;
    return { id, createdAt: textOrNull(createdAt), begunAt, endpoint: textOrNull(endpoint) };
  } catch {
    return null;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
