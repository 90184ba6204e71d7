/** The error of a request under its title: what it means, what to do, and the button that does it. Never acts itself: each button opens a dialog. */
import { useEffect, useRef, useState } from 'react';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import { useWhyNot } from '../../data/session.ts';
import { useUrlState } from '../../data/url-state.ts';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import type { Act } from './request-actions.tsx';
import { ErrorView } from './conversation-view.tsx';
import type { Failure, WayOn } from './failure.ts';
import { RedriveDialog } from './redrive-dialog.tsx';
import { whyArchived } from './request-data.ts';

export interface FailureViewProps {
  readonly view: RequestView;
  readonly failure: Failure;
  readonly onAsk: (act: Act) => void;
}

const WORDS: Readonly<Record<WayOn, string>> = {
  resume: 'Resume…',
  again: 'Run again…',
  redrive: 'Redrive…',
};

export function FailureView({ view, failure, onAsk }: FailureViewProps) {
  const { error, directiveId, ways } = failure;
  const [isRedriving, setRedriving] = useState(false);
  const whyNot = useWhyNot('submit');
  const whyOf = (way: WayOn): string | null => whyNot ?? (way === 'again' ? null : whyArchived(view));
  const [proposed, ...others] = ways;
  const button = (way: WayOn | undefined, look: 'primary' | 'plain') =>
    way !== undefined && (
      <Button
        key={way}
        look={look}
        why={whyOf(way)}
        onClick={() => (way === 'redrive' ? setRedriving(true) : onAsk({ kind: way }))}
      >
        {WORDS[way]}
      </Button>
    );
  const isCancelled = error.type === 'cancelled';
  return (
    <section className={isCancelled ? 'failure failure-quiet' : 'failure'} aria-label="How it failed">
      <Icon name={isCancelled ? 'stop' : 'warn'} />
      <ErrorView error={error} />
      <div className="row">
        {button(proposed, 'primary')}
        {others.map((way) => button(way, 'plain'))}
      </div>
      {directiveId !== null && (
        <RedriveDialog
          requestId={view.request_id}
          directiveId={directiveId}
          error={error.type}
          isOpen={isRedriving}
          onClose={() => setRedriving(false)}
        />
      )}
    </section>
  );
}

/** Chooses the failed step when the page of a failed request is opened without a choice; later failures change no choice. */
export function useFailedStep(requestId: string, isRead: boolean, failure: Failure | null): void {
  const [step, select] = useUrlState('step');
  const [signal] = useUrlState('signal');
  const isOpened = useRef(false);
  const failed = failure?.directiveId ?? null;
  useEffect(() => {
    if (!isRead || isOpened.current) return;
    isOpened.current = true;
    if (failed !== null && step === '' && signal === '') select(`${requestId}/${failed}`);
  }, [isRead, requestId, failed, step, signal, select]);
}
