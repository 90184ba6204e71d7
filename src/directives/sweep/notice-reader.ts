// Reads the outcome of the notices of ends: their deliveries are requests whose ids follow from the end. Reads nothing
// where there are no notices.
import { type Notice, unsentNotice } from '../../contract/signal/notice.ts';
import { requestPath } from '../../contract/api-path.ts';
import { ownId } from '../../contract/access/tenant.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import type { SweepIndex } from '../../store/index/sweep-index.ts';
import { instantOrNull } from '../../queue/instant.ts';
import { deliveriesOf, noticeRef } from './notice.ts';
import { RUN_ENTRY } from '../../queue/run-wake.ts';
import { stemOf } from '../change/successor-id.ts';
import { plainText } from '../../contract/json/plain-text.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { SignalLog } from '../../store/log/signal-log.ts';

export interface NoticeReaderParts {
  readonly journal: Pick<Journal, 'request' | 'log'>;
  readonly index: Pick<SweepIndex, 'has'>;
}

/** Notices by directive, or `RUN_ENTRY`. */
export type Notices = ReadonlyMap<string, readonly Notice[]>;

export const NO_NOTICES: Notices = new Map();

/** Ends of one answer, and receivers of one end. */
const MOST_ENDS = 50;
const MOST_RECEIVERS = 100;

/** `run`: whether the run of the request has ended and has a receiver. */
export type ReadNotices = (
  requestId: string,
  directives: readonly DirectiveRecord[],
  run?: boolean,
) => Promise<Notices>;

export function createNoticeReader({ journal, index }: NoticeReaderParts): ReadNotices {
  async function of(requestId: string, subject: string): Promise<Notice[]> {
    const deliveries = deliveriesOf(requestId, subject);
    const found = await journal.request(deliveries);
    if (found === null)
      return (await index.has(noticeRef(requestId, subject))) ? [unsentNotice(ownId(deliveries))] : [];
    const newest = new Map(found.directives.map((record) => [stemOf(record.id), record]));
    const shown = [...newest].slice(0, MOST_RECEIVERS);
    const why = shown.some(([, record]) => waitsAgain(record))
      ? await waitReasons(journal.log, deliveries, found.record.sequence)
      : new Map<string, string>();
    return Promise.all(shown.map(async ([endpoint, record]) => noticeOf(deliveries, endpoint, record, why)));
  }

  async function noticeOf(
    requestId: string,
    endpoint: string,
    record: DirectiveRecord,
    why: ReadonlyMap<string, string>,
  ): Promise<Notice> {
    const { id, nextAttemptAt, endedAt } = record;
    const failure = record.status === 'failed' ? await failureOf(requestId, record) : null;
    const error = failure === null ? null : errorOf(failure);
    const attempts = attemptsOf(record);
    const again = waitsAgain(record) ? why.get(id) : undefined;
    const reason = failure === null ? again : failureText(failure);
    return {
      endpoint,
      status: statusOf(record, attempts, error),
      attempts,
      next_attempt_at: instantOrNull(nextAttemptAt),
      ended_at: instantOrNull(endedAt),
      error,
      ...(reason === undefined ? {} : { reason }),
      request_id: ownId(requestId),
      id,
      url: requestPath(ownId(requestId)),
    };
  }

  async function failureOf(requestId: string, { terminal }: DirectiveRecord): Promise<NamedFailure> {
    const signal = terminal === null ? null : await journal.log.at(requestId, terminal);
    return (signal?.data as { result?: { error?: NamedFailure } } | undefined)?.result?.error ?? {};
  }

  return async (requestId, directives, run = false) => {
    const ended = directives.filter(({ noticed, terminal }) => noticed && terminal !== null);
    const subjects = [...(run ? [RUN_ENTRY] : []), ...ended.map(({ id }) => id)].slice(0, MOST_ENDS);
    if (subjects.length === 0) return NO_NOTICES;
    const read = subjects.map(async (subject) => [subject, await of(requestId, subject)] as const);
    return new Map((await Promise.all(read)).filter(([, notices]) => notices.length > 0));
  };
}

function attemptsOf({ fence, released }: DirectiveRecord): number {
  return fence - released;
}

/** It was tried, and is to be tried again. */
function waitsAgain(record: DirectiveRecord): boolean {
  return record.endedAt === null && attemptsOf(record) > 0;
}

function errorOf({ type }: NamedFailure): string {
  return typeof type === 'string' ? type : 'internal_error';
}

function statusOf({ status }: DirectiveRecord, attempts: number, error: string | null): string {
  if (status === 'succeeded') return 'delivered';
  if (status !== 'failed') return 'waiting';
  return attempts > 0 && error !== 'cancelled' ? 'dead' : 'failed';
}

/** Bound of the newest deliveries of one end: four of each of eight receivers. */
const NEWEST = { limit: 32, bytes: 256 * 1024 };
const LONGEST = 300;

/** Reasons by directive, for those that failed or wait for a worker. `sequence`: that of the newest signal. */
async function waitReasons(
  log: Pick<SignalLog, 'read'>,
  requestId: string,
  sequence: number,
): Promise<ReadonlyMap<string, string>> {
  const { signals } = await log.read(requestId, Math.max(0, sequence - NEWEST.limit), NEWEST);
  return new Map(signals.flatMap(reasonIn));
}

function reasonIn(signal: Signal): [string, string][] {
  if (signal.type === 'directive.retry_scheduled') {
    const { call_id: id, error } = signal.data;
    return [[id, failureText(error) ?? error.type]];
  }
  if (signal.type === 'directive.waiting') return [[signal.data.call_id, shortened(signal.data.message)]];
  return [];
}

interface NamedFailure {
  readonly type?: unknown;
  readonly message?: unknown;
}

/** undefined: it does not say. */
function failureText({ type, message }: NamedFailure): string | undefined {
  return typeof message === 'string' ? shortened(`${String(type)}: ${message}`) : undefined;
}

function shortened(text: string): string {
  return plainText(text).slice(0, LONGEST);
}
