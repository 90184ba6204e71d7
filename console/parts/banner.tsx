/** Something that concerns the whole page or section: an error with what to do, a warning, a hint.
 *  It must never cover what it is about. */
import type { ReactNode } from 'react';
import { isAway, isListOff, NoAnswer, Refused } from '../data/api.ts';
import { useReach } from '../data/reach.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { Text } from './text.tsx';
import './banner.css';

export interface BannerProps {
  readonly tone?: 'bad' | 'wait' | 'plain';
  readonly children: ReactNode;
  /** Buttons. */
  readonly actions?: ReactNode;
}

export function Banner({ tone = 'plain', children, actions }: BannerProps) {
  return (
    <div className={`banner banner-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {tone !== 'plain' && <Icon name="warn" />}
      <div className="banner-text">{children}</div>
      {actions}
    </div>
  );
}

/** The list of requests, and what is chosen from it, does not hold all of them. */
export function IncompleteBanner() {
  return (
    <Banner tone="wait">
      The list is built anew: older requests are missing, and the counts are too low, until that is done.
    </Banner>
  );
}

/** A call that the key may not make fails again. */
function isForbidden(error: Error): boolean {
  return error instanceof Refused && error.problem.status === 403;
}

/** An error of reading. Where the service does not answer, the frame says so once for the whole page. */
export function ReadError({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const { answers } = useReach();
  if (!answers && isAway(error)) return null;
  return <ErrorBanner error={error} {...(onRetry && { onRetry })} />;
}

/** The error, its cause, and what to do. */
export function ErrorBanner({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const retry = onRetry && !isForbidden(error) && <Button onClick={onRetry}>Try again</Button>;
  if (error instanceof Refused) {
    const { title, detail, code, errors = [] } = error.problem;
    return (
      <Banner tone={isListOff(error) ? 'wait' : 'bad'} actions={retry}>
        <Text>{detail ?? title}</Text> <code className="faint">{code}</code>
        {errors.slice(0, 8).map(({ path, message }) => (
          <div key={`${path} ${message}`}>
            <Text mono>{path}</Text> <Text>{message}</Text>
          </div>
        ))}
      </Banner>
    );
  }
  const doNow = error instanceof NoAnswer ? 'Is it running? `adjutant doctor` says what is wrong.' : '';
  return (
    <Banner tone="bad" actions={retry}>
      <Text>{error.message}</Text> {doNow}
    </Banner>
  );
}
