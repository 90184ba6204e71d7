// Reads what became of the notices of ends: their deliveries are requests whose ids follow from the end.
// Must never read more for what nobody is notified of.
import { type Notice, unsentNotice } from '../contract/notice.ts';
import { requestPath } from '../contract/api-path.ts';
import { ownId } from '../contract/tenant.ts';
import type { Journal } from '../journal/journal.ts';
import type { DirectiveRecord } from '../journal/records.ts';
import type { SweepIndex } from '../journal/sweep-index.ts';
import { instantOrNull } from './instant.ts';
import { deliveriesOf, noticeRef } from './notice.ts';
import { RUN_ENTRY } from './run-wake.ts';
import { stemOf } from './successor-id.ts';

export interface NoticeReaderParts {
  readonly journal: Pick<Journal, 'request' | 'log'>;
  readonly index: Pick<SweepIndex, 'has'>;
}

/** By directive, or `RUN_ENTRY`. */
export type Notices = ReadonlyMap<string, readonly Notice[]>;

export const NO_NOTICES: Notices = new Map();

/** Ends of one answer, and receivers of one end. */
const MOST_ENDS = 50;
const MOST_RECEIVERS = 100;

/** `run`: whether the run of the request has ended and somebody is to be notified of that. */
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
    return Promise.all(shown.map(async ([endpoint, record]) => noticeOf(deliveries, endpoint, record)));
  }

  async function noticeOf(requestId: string, endpoint: string, record: DirectiveRecord): Promise<Notice> {
    const { id, fence, released, nextAttemptAt, endedAt } = record;
    const error = record.status === 'failed' ? await errorOf(requestId, record) : null;
    const attempts = fence - released;
    return {
      endpoint,
      status: statusOf(record, attempts, error),
      attempts,
      next_attempt_at: instantOrNull(nextAttemptAt),
      ended_at: instantOrNull(endedAt),
      error,
      request_id: ownId(requestId),
      id,
      url: requestPath(ownId(requestId)),
    };
  }

  async function errorOf(requestId: string, { terminal }: DirectiveRecord): Promise<string> {
    const signal = terminal === null ? null : await journal.log.at(requestId, terminal);
    const type = (signal?.data as { result?: { error?: { type?: unknown } } } | undefined)?.result?.error
      ?.type;
    return typeof type === 'string' ? type : 'internal_error';
  }

  return async (requestId, directives, run = false) => {
    const ended = directives.filter(({ noticed, terminal }) => noticed && terminal !== null);
    const subjects = [...(run ? [RUN_ENTRY] : []), ...ended.map(({ id }) => id)].slice(0, MOST_ENDS);
    if (subjects.length === 0) return NO_NOTICES;
    const read = subjects.map(async (subject) => [subject, await of(requestId, subject)] as const);
    return new Map((await Promise.all(read)).filter(([, notices]) => notices.length > 0));
  };
}

function statusOf({ status }: DirectiveRecord, attempts: number, error: string | null): string {
  if (status === 'succeeded') return 'delivered';
  if (status !== 'failed') return 'waiting';
  return attempts > 0 && error !== 'cancelled' ? 'dead' : 'failed';
}
