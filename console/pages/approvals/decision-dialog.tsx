/** The decision about one item: its reason, its arguments if they are changed, and the earlier decision of another person.
 *  It must never send a decision twice, nor one by Enter alone. */
import { useState } from 'react';
import type { OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import type { ApprovalDecisionBody, RecordedDecision } from '../../../src/contract/run/run.ts';
import { call, path, Refused } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { readObject } from '../../data/typed-json.ts';
import { Banner, ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Text } from '../../parts/text.tsx';
import { toast } from '../../parts/toast.ts';
import { type Draft, DecisionFields } from './decision-fields.tsx';
import { decidedWords, shownArguments } from './inbox.ts';
import { useDecider } from './use-decider.tsx';

export interface Asked {
  readonly item: OpenApproval;
  readonly decision: 'approve' | 'deny';
  readonly isEdit: boolean;
}

export interface DecisionDialogProps {
  readonly asked: Asked;
  readonly onClose: () => void;
  /** It waits no more. */
  readonly onDone: (item: OpenApproval) => void;
}

export function DecisionDialog({ asked, onClose, onDone }: DecisionDialogProps) {
  const { item, decision } = asked;
  const [draft, setDraft] = useState<Draft>({ reason: '', args: shownArguments(item), fault: null });
  const decider = useDecider();
  const change = useDecision(item);
  const elsewhere = change.error instanceof Refused ? decidedWords(change.error.problem, Date.now()) : null;

  function decide(): void {
    const read = asked.isEdit ? readObject(draft.args) : null;
    if (read !== null && 'fault' in read) return setDraft({ ...draft, fault: read.fault });
    const args = read === null ? {} : { arguments: read.value };
    const onSuccess = (): void => {
      toast(`${decision === 'approve' ? 'Approved' : 'Denied'}: ${item.tool}`);
      onDone(item);
      onClose();
    };
    change.mutate({ decision, ...reasonOf(draft.reason), ...decider.by, ...args }, { onSuccess });
  }

  function close(): void {
    if (elsewhere !== null) onDone(item);
    onClose();
  }

  const act = elsewhere === null && (
    <Button look={decision === 'approve' ? 'primary' : 'danger'} disabled={change.isPending} onClick={decide}>
      {decision === 'approve' ? 'Approve' : 'Deny'}
    </Button>
  );
  const closeText = elsewhere === null ? 'Keep open' : 'Close';
  return (
    <Dialog isOpen onClose={close} title={titleOf(asked)} closeText={closeText} actions={act}>
      {elsewhere !== null && <Elsewhere words={elsewhere} />}
      {elsewhere === null && change.error !== null && <ErrorBanner error={change.error} />}
      {elsewhere === null && <DecisionFields asked={asked} draft={draft} onDraft={setDraft} />}
      {elsewhere === null && decider.field}
    </Dialog>
  );
}

/** The earlier decision of another person. */
function Elsewhere({ words }: { words: string }) {
  return (
    <Banner tone="wait">
      <Text>{words}</Text>
    </Banner>
  );
}

function reasonOf(reason: string): { reason?: string } {
  return reason.trim() === '' ? {} : { reason: reason.trim() };
}

function titleOf({ item, decision, isEdit }: Asked): string {
  if (decision === 'deny') return `Deny ${item.tool}?`;
  return isEdit ? `Approve ${item.tool} with other arguments?` : `Approve ${item.tool}?`;
}

function useDecision({ request_id, call_id }: OpenApproval) {
  return useChange((body: ApprovalDecisionBody) =>
    call<RecordedDecision>('POST', path`/v1/requests/${request_id}/approvals/${call_id}`, { body }),
  );
}
