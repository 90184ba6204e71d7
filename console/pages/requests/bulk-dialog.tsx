/** The question before several requests are cancelled or redriven: what it would do, read anew, and its answer.
 *  It must never be answered by Enter alone. */
import { useEffect, useState } from 'react';
import { useChange } from '../../data/queries.ts';
import { Banner, ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { toast } from '../../parts/toast.ts';
import { cancelAll, type Done, look, type Looked, redriveAll } from './bulk.ts';

export interface BulkDialogProps {
  readonly act: 'cancel' | 'redrive';
  readonly ids: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function BulkDialog({ act, ids, onClose, onDone }: BulkDialogProps) {
  const [looked, setLooked] = useState<Looked | null>(null);
  const [fault, setFault] = useState<Error | null>(null);
  const [ended, setEnded] = useState<Done | null>(null);
  useEffect(() => {
    void look(act, ids).then(setLooked, setFault);
    // What was chosen when it opened.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  const count = looked === null ? 0 : act === 'cancel' ? looked.open.length : looked.failed.length;
  const change = useChange(async (of: Looked) =>
    act === 'cancel' ? cancelAll(of.open) : redriveAll(of.failed),
  );
  const onSuccess = (done: Done): void => {
    if (done.failed > 0) return setEnded(done);
    toast(act === 'cancel' ? `${done.done} cancelled` : `${done.done} redriven`);
    onDone();
  };
  const noun =
    act === 'cancel' ? requests(count) : `${count} failed ${count === 1 ? 'directive' : 'directives'}`;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={act === 'cancel' ? 'Cancel requests' : 'Redrive what failed'}
      closeText="Close"
      actions={
        <Button
          look={act === 'cancel' ? 'danger' : 'primary'}
          disabled={looked === null || count === 0 || change.isPending || ended !== null}
          onClick={() => looked !== null && change.mutate(looked, { onSuccess })}
        >
          {act === 'cancel' ? 'Cancel' : 'Redrive'} {noun}
        </Button>
      }
    >
      {looked !== null && <Preview act={act} of={looked} ids={ids} />}
      {looked === null && fault === null && <p className="muted">Reading what it would do…</p>}
      {fault !== null && <ErrorBanner error={fault} />}
      {change.error !== null && <ErrorBanner error={change.error} />}
      {ended !== null && (
        <Banner tone="bad">
          {ended.done} done, {ended.failed} not{ended.error === null ? '.' : `: ${ended.error.message}`}
        </Banner>
      )}
    </Dialog>
  );
}

function Preview({ act, of, ids }: { act: 'cancel' | 'redrive'; of: Looked; ids: readonly string[] }) {
  const others = ids.length - of.open.length - of.unread;
  return (
    <>
      {act === 'cancel' ? (
        <p>
          {requests(of.open.length)} would be cancelled
          {others > 0 && `; ${others} of the chosen have ended already`}. A call that runs may still take
          effect: a cancellation cannot take it back.
        </p>
      ) : (
        <>
          <p>
            {of.failed.length} failed {of.failed.length === 1 ? 'directive' : 'directives'} of{' '}
            {requests(ids.length)} would be executed again, as new directives.
          </p>
          <Banner tone="wait">
            A call that failed may have happened. Redriving it may repeat its effect.
          </Banner>
        </>
      )}
      {of.unread > 0 && <p className="muted">{requests(of.unread)} could not be read, and are left out.</p>}
    </>
  );
}

function requests(count: number): string {
  return `${count} ${count === 1 ? 'request' : 'requests'}`;
}
