/** The outcome of one instant, with the way to its request.
 *  It must never call an instant fired that has no request. */
import { Link } from '@tanstack/react-router';
import type { Firing } from '../../../src/contract/schedule/schedule.ts';
import { outcomeWords } from './schedule-words.ts';

/** null: there was none yet. */
export function Outcome({ of }: { of: Firing | null }) {
  if (of === null) return <span className="faint">–</span>;
  const text = (
    <span className={of.outcome === 'failed' || of.outcome === 'missed' ? 'schedules-failed' : ''}>
      {outcomeWords(of)}
    </span>
  );
  if (of.request_id === null) return text;
  return (
    <Link
      className="schedules-link"
      to="/requests/$requestId"
      params={{ requestId: of.request_id } as never}
      title={of.request_id}
    >
      {text}
    </Link>
  );
}
