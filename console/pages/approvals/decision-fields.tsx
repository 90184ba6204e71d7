/** The fields of a decision: its reason, and other arguments if they are to be changed.
 *  It must never change arguments that are only shown. */
import { Code } from '../../parts/code.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import type { Asked } from './decision-dialog.tsx';

export interface Draft {
  readonly reason: string;
  /** JSON. */
  readonly args: string;
  /** Fault of the arguments; null: none. */
  readonly fault: string | null;
}

export interface DecisionFieldsProps {
  readonly asked: Asked;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

const LONGEST_REASON = 4_096;

export function DecisionFields({ asked, draft, onDraft }: DecisionFieldsProps) {
  const { isEdit, decision } = asked;
  return (
    <>
      {isEdit && (
        <div className="approvals-arguments">
          <TextAreaField
            label="Arguments"
            error={draft.fault}
            value={draft.args}
            onChange={(event) => onDraft({ ...draft, args: event.target.value })}
            spellCheck={false}
          />
        </div>
      )}
      {!isEdit && draft.args !== '' && <Code label="arguments">{draft.args}</Code>}
      <TextField
        label="Reason"
        optional
        hint={decision === 'deny' ? 'The model reads it.' : 'It is kept in the log.'}
        value={draft.reason}
        maxLength={LONGEST_REASON}
        onChange={(event) => onDraft({ ...draft, reason: event.target.value })}
      />
    </>
  );
}
