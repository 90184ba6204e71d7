/** Where a person writes to an agent: it starts a run, or goes to the one that is under way.
 *  It must never send the same text as two: a repeat after a lost answer has the same id. */
import { type KeyboardEvent, type SubmitEvent, useId } from 'react';
import { useDraft } from '../../data/draft.ts';
import { useMissingScope } from '../../data/session.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import '../../parts/field.css';
import { type Talk, useSend } from './use-send.ts';

export interface ComposerProps {
  readonly agent: string;
  /** null: a new conversation. */
  readonly talk: Talk | null;
  readonly onStarted: (requestId: string) => void;
}

export function Composer({ agent, talk, onStarted }: ComposerProps) {
  const [text, type] = useDraft(`${agent}/${talk?.requestId ?? ''}`);
  const id = useId();
  const missing = useMissingScope('submit');
  const sending = useSend(agent, talk, { onStarted, onSent: () => type('') });
  const send = (event?: SubmitEvent): void => {
    event?.preventDefault();
    if (text.trim() !== '' && !sending.isPending && missing === null) sending.send(text);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    send();
  };
  if (missing !== null && text === '') return <MayNot isNew={talk === null} scope={missing} />;
  return (
    <form className="agents-composer" onSubmit={send}>
      {sending.error !== null && <ErrorBanner error={sending.error} onRetry={() => send()} />}
      <label htmlFor={id}>{labelOf(talk)}</label>
      <textarea
        id={id}
        className="input"
        value={text}
        onChange={(event) => type(event.target.value)}
        onKeyDown={press}
      />
      <div className="row">
        <Button
          type="submit"
          look="primary"
          why={missing && `needs the scope ${missing}`}
          disabled={sending.isPending || text.trim() === ''}
        >
          {talk === null ? 'Start a run' : 'Send'}
        </Button>
        <span className="faint">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> {talk?.isRunning === true && '· read before its next model call'}
        </span>
      </div>
    </form>
  );
}

function MayNot({ isNew, scope }: { isNew: boolean; scope: string }) {
  return (
    <p className="agents-composer muted">
      This key may not {isNew ? 'start a run' : 'write to a run'}: it needs the scope {scope}.
    </p>
  );
}

function labelOf(talk: Talk | null): string {
  if (talk === null) return 'What should it do?';
  return talk.isRunning ? 'Say something to the run' : 'Go on in this conversation';
}
