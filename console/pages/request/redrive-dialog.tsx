/** Executes a directive again that has failed, after a warning.
 *  It must never be Enter's default. */
import { useNavigate } from '@tanstack/react-router';
import type { Redrive } from '../../../src/contract/directive/dead-letter.ts';
import { call } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { Banner } from '../../parts/banner.tsx';
import { AskDialog } from '../../parts/dialog.tsx';
import { toast } from '../../parts/toast.ts';
import { FindOut } from './find-out.tsx';

interface RedriveProps {
  readonly requestId: string;
  readonly directiveId: string;
  /** The type of the error that it ended with. */
  readonly error: string | null;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function RedriveDialog({ requestId, directiveId, error, isOpen, onClose }: RedriveProps) {
  const why = useWhyNot('redrive');
  const navigate = useNavigate();
  const redrive = useChange(async () =>
    call<Redrive>('POST', '/v1/dead-letters/redrive', {
      body: { directives: [{ request_id: requestId, id: directiveId }] },
    }),
  );
  const act = (): void =>
    redrive.mutate(undefined, {
      onSuccess: ({ redriven, refused }) => {
        const next = redriven[0]?.to.request_id;
        onClose();
        toast(next === undefined ? (refused[0]?.detail ?? 'It is no dead letter any more.') : 'Redriven');
        if (next !== undefined && next !== requestId)
          void navigate({ to: '/requests/$requestId', params: { requestId: next } as never });
      },
    });
  return (
    <AskDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Redrive this directive?"
      closeText="Cancel"
      verb="Redrive one directive"
      look="danger"
      why={why}
      isOff={redrive.isPending}
      onAct={act}
      error={redrive.error}
    >
      <p>
        A redrive executes the directive again, as a new one. A run that has ended does not go on with it:
        resume the run for that.
      </p>
      {error === 'outcome_unknown' && (
        <>
          <Banner tone="wait">
            It may have happened: redriving may repeat it. See first whether the work was done.
          </Banner>
          <FindOut requestId={requestId} directiveId={directiveId} />
        </>
      )}
    </AskDialog>
  );
}
