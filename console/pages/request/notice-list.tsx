/** Receivers that are notified of an end: their state, and the way to the delivery.
 *  It must never guess: what is not accepted yet has no receiver. */
import { Link } from '@tanstack/react-router';
import type { Notice } from '../../../src/contract/signal/notice.ts';
import { safeText } from '../../data/safe-text.ts';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';

export function NoticeList({ notices = [] }: { readonly notices?: readonly Notice[] | undefined }) {
  if (notices.length === 0) return null;
  return (
    <span className="notices">
      notified{' '}
      {notices.map((notice) => (
        <span key={`${notice.request_id}/${notice.id}`}>
          <Link to="/requests/$requestId" params={{ requestId: notice.request_id } as never}>
            <Text>{notice.endpoint ?? 'not accepted yet'}</Text>
          </Link>{' '}
          <Status of={stateOf(notice)} text={wordsOf(notice)} />{' '}
          {notice.reason !== undefined && <Text>{`(${notice.reason}) `}</Text>}
        </span>
      ))}
    </span>
  );
}

const STATES: Readonly<Record<string, string>> = { delivered: 'succeeded', dead: 'failed' };

function stateOf({ status }: Notice): string {
  return Object.hasOwn(STATES, status) ? (STATES[status] ?? status) : status;
}

function wordsOf({ status, attempts, error, reason }: Notice): string {
  const why = error === null || reason !== undefined ? '' : `: ${error}`;
  return safeText(`${status}${why}, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`);
}
