/** One decision about several items: each is decided as if it were alone. Never decides by Enter alone, nor about what is not listed. */
import { useState } from 'react';
import type { BulkDecision, BulkDecisionBody } from '../../../src/contract/run/bulk-decision.ts';
import type { OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import type { ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import { call } from '../../data/api.ts';
import { effectsOf } from '../../data/effect-words.ts';
import { useChange, useRead } from '../../data/queries.ts';
import { Banner, ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Text } from '../../parts/text.tsx';
import { toast } from '../../parts/toast.ts';
import { itemKey } from './inbox.ts';
import { useDecider } from './use-decider.tsx';

export interface BulkDialogProps {
  readonly items: readonly OpenApproval[];
  readonly decision: 'approve' | 'deny';
  /** Gets the items that wait no more. */
  readonly onClose: (gone: readonly OpenApproval[]) => void;
}

const LONGEST_REASON = 4_096;

export function BulkDialog({ items: open, decision, onClose }: BulkDialogProps) {
  // The items as they were when the dialog opened: the list behind it is read again and again.
  const [items] = useState(open);
  const [reason, type] = useState('');
  const decider = useDecider();
  const change = useChange((body: BulkDecisionBody) =>
    call<BulkDecision>('POST', '/v1/approvals/decide', { body }),
  );
  const { data: answer } = change;
  const refused = answer?.refused ?? [];
  const word = decision === 'approve' ? 'Approve' : 'Deny';
  const act = (): void => {
    const calls = items.map(({ request_id, call_id }) => ({ request_id, call_id }));
    const given = reason.trim() === '' ? {} : { reason: reason.trim() };
    const body = { decision, calls, ...given, ...decider.by };
    change.mutate(body, {
      onSuccess: ({ decided, refused: others }) => {
        toast(`${decision === 'approve' ? 'Approved' : 'Denied'}: ${decided.length}`);
        if (others.length === 0) onClose(items);
      },
    });
  };
  return (
    <Dialog
      isOpen
      onClose={() => onClose(answer === undefined ? [] : items)}
      title={`${word} ${items.length} ${items.length === 1 ? 'item' : 'items'}?`}
      closeText={answer === undefined ? 'Keep open' : 'Close'}
      actions={
        answer === undefined && (
          <Button
            look={decision === 'approve' ? 'primary' : 'danger'}
            disabled={change.isPending}
            onClick={act}
          >
            {word} {items.length}
          </Button>
        )
      }
    >
      {change.error !== null && <ErrorBanner error={change.error} />}
      {refused.length > 0 && (
        <Banner tone="wait">
          {refused.length} {refused.length === 1 ? 'was' : 'were'} not decided here:
          {refused.slice(0, 20).map(({ request_id, call_id, detail }) => (
            <div key={`${request_id}/${call_id}`}>
              <Text mono>{request_id}</Text> <Text>{detail}</Text>
            </div>
          ))}
        </Banner>
      )}
      {answer === undefined && (
        <>
          <Effects items={items} />
          <ul className="approvals-bulk" aria-label="Items to decide">
            {items.map((item) => (
              <li key={itemKey(item)}>
                <b>
                  <Text>{item.tool}</Text>
                </b>{' '}
                <Text mono>{(item.arguments ?? item.message ?? '').slice(0, 200)}</Text>
              </li>
            ))}
          </ul>
          <TextField
            label="Reason"
            optional
            hint={decision === 'deny' ? 'The model reads it.' : 'It is kept in the log.'}
            value={reason}
            maxLength={LONGEST_REASON}
            onChange={({ target }) => type(target.value)}
          />
          {decider.field}
        </>
      )}
    </Dialog>
  );
}

/** How many of the calls act once. */
function Effects({ items }: { items: readonly OpenApproval[] }) {
  const { data } = useRead<ToolListing>('/v1/tools?remembered=true');
  if (data === undefined) return null;
  const effects = effectsOf(data.tools);
  const calls = items.filter(({ kind }) => kind === 'approval');
  const once = calls.filter(({ tool }) => (effects.get(tool) ?? 'once') === 'once').length;
  if (once === 0) return null;
  return (
    <Banner tone="wait">
      {once} of {items.length} act once, or their effect is unknown: such a call cannot be taken back.
    </Banner>
  );
}
