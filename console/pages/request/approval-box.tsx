/** A call that waits for a decision: what it would do, and the buttons.
 *  It must never approve by a single key or by Enter: each opens a dialog whose way out has the focus. */
import { encryptedAlone } from '../../../src/contract/encrypted/encrypted-form.ts';
import { useState } from 'react';
import { call, path, Refused } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { objectFault } from '../../data/typed-json.ts';
import { useKeys } from '../../keys/keymap.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Json } from '../../parts/json.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Text } from '../../parts/text.tsx';
import { toast } from '../../parts/toast.ts';

export interface OpenApproval {
  readonly callId: string;
  /** Whether the call can be approved with other arguments. */
  readonly isEditable: boolean;
  readonly name: string;
  /** Without a decision by then the run fails. */
  readonly until: string | null;
  readonly reason: string | null;
  readonly arguments: unknown;
}

interface ApprovalProps {
  readonly requestId: string;
  readonly approval: OpenApproval;
}

type Choice = 'approve' | 'edit' | 'deny';

export function ApprovalBox({ requestId, approval }: ApprovalProps) {
  const [choice, choose] = useState<Choice | null>(null);
  const why = useWhyNot('decide');
  useKeys({ a: () => choose('approve'), d: () => choose('deny') });
  return (
    <section className="approval" aria-label={`Approval of ${approval.name}`}>
      <Asked approval={approval} />
      <div className="row">
        <Button look="primary" why={why} onClick={() => choose('approve')}>
          Approve… <kbd>a</kbd>
        </Button>
        {approval.isEditable && (
          <Button why={why} onClick={() => choose('edit')}>
            Edit…
          </Button>
        )}
        <Button look="danger" why={why} onClick={() => choose('deny')}>
          Deny…
        </Button>
      </div>
      {choice !== null && (
        <DecisionDialog
          requestId={requestId}
          approval={approval}
          choice={choice}
          onClose={() => choose(null)}
        />
      )}
    </section>
  );
}

function Asked({ approval: { name, until, reason, arguments: args } }: Pick<ApprovalProps, 'approval'>) {
  return (
    <>
      <p>
        <b>
          <Text>{name}</Text>
        </b>{' '}
        waits for a decision
        {until !== null && (
          <>
            , until <Instant at={until} />
          </>
        )}
        .
      </p>
      {reason !== null && (
        <p>
          <Text>{reason}</Text>
        </p>
      )}
      {args !== undefined && <Json value={args} label="arguments" keyIdOf={encryptedAlone} />}
    </>
  );
}

const TITLES: Readonly<Record<Choice, string>> = {
  approve: 'Approve',
  edit: 'Approve with other arguments',
  deny: 'Deny',
};

interface DecisionProps extends ApprovalProps {
  readonly choice: Choice;
  readonly onClose: () => void;
}

function DecisionDialog({ requestId, approval, choice, onClose }: DecisionProps) {
  const [reason, typeReason] = useState('');
  const [edited, edit] = useState(() => JSON.stringify(approval.arguments ?? {}, null, 2));
  const fault = choice === 'edit' ? objectFault(edited) : null;
  const decide = useDecision(requestId, approval.callId, onClose);
  const decision = choice === 'deny' ? 'deny' : 'approve';
  const act = (): void =>
    decide.mutate({
      decision,
      ...(reason === '' ? {} : { reason }),
      ...(choice === 'edit' ? { arguments: JSON.parse(edited) as unknown } : {}),
    });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`${TITLES[choice]}: ${approval.name}`}
      closeText="Keep open"
      actions={
        <Button
          look={choice === 'deny' ? 'danger' : 'primary'}
          disabled={decide.isPending || decide.isDecided || fault !== null}
          onClick={act}
        >
          {choice === 'deny' ? 'Deny the call' : 'Approve the call'}
        </Button>
      }
    >
      {decide.error !== null && <ErrorBanner error={decide.error} />}
      {choice === 'approve' && approval.arguments !== undefined && (
        <Json value={approval.arguments} label="arguments" keyIdOf={encryptedAlone} />
      )}
      {choice === 'approve' && approval.arguments === undefined && approval.reason !== null && (
        <p>
          <Text>{approval.reason}</Text>
        </p>
      )}
      {choice === 'edit' && <ArgumentsField text={edited} fault={fault} onChange={edit} />}
      <TextField
        label="Reason"
        optional
        hint={choice === 'deny' ? 'The model reads it.' : 'It is kept in the log.'}
        value={reason}
        onChange={({ target }) => typeReason(target.value)}
      />
    </Dialog>
  );
}

interface DecisionBody {
  readonly decision: 'approve' | 'deny';
  readonly reason?: string;
  readonly arguments?: unknown;
}

function useDecision(requestId: string, callId: string, onClose: () => void) {
  const decide = useChange(async (body: DecisionBody) => {
    await call('POST', path`/v1/requests/${requestId}/approvals/${callId}`, { body });
    onClose();
    toast(body.decision === 'deny' ? 'Denied' : 'Approved');
  });
  const { error, isPending, mutate } = decide;
  return { error, isPending, mutate, isDecided: error instanceof Refused && error.problem.status === 409 };
}

interface ArgumentsProps {
  readonly text: string;
  readonly fault: string | null;
  readonly onChange: (text: string) => void;
}

function ArgumentsField({ text, fault, onChange }: ArgumentsProps) {
  return (
    <TextAreaField
      label="Arguments"
      hint="A JSON object. The call is made with these instead; the log shows the change. Values shown as redacted must be typed again."
      error={fault}
      rows={8}
      spellCheck={false}
      value={text}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
