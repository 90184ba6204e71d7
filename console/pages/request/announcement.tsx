/** Announcements for screen readers: approval needed, failed, connection lost.
 *  It must never say anything else. */
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import type { LiveState } from '../../data/live.ts';

export function Announcement({ view, state }: { view: RequestView | undefined; state: LiveState }) {
  const waits = view?.run?.waiting_for.some(({ kind }) => kind === 'approval' || kind === 'budget') === true;
  const words = [
    waits ? 'Approval needed.' : '',
    view?.run?.status === 'failed' ? 'The run failed.' : '',
    state === 'reconnecting' ? 'Connection lost; the page reconnects.' : '',
  ];
  return (
    <p className="visually-hidden" role="status" aria-live="polite">
      {words.join(' ').trim()}
    </p>
  );
}
