/** The form of a tool's arguments, and the button that calls it.
 *  It must never call a tool that acts once without asking first. */
import { type SubmitEvent, useState } from 'react';
import type { ListedTool } from '../../../src/contract/tool/tool-listing.ts';
import { NoAnswer, Refused } from '../../data/api.ts';
import { useWhyNot } from '../../data/session.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Json } from '../../parts/json.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextAreaField } from '../../parts/field.tsx';
import { Text } from '../../parts/text.tsx';
import { useCallSubmission } from './call-submission.ts';
import { faultAt, placedFaults } from './fault-places.ts';
import type { FormField } from './form-fields.ts';
import { FormFieldView } from './form-field.tsx';
import { type FormState, useFormState } from './form-state.ts';
import type { FieldFault } from './form-values.ts';

export interface ToolFormProps {
  readonly tool: ListedTool;
  /** Arguments of an earlier call; null: none. */
  readonly first: Arguments | null;
  readonly onCalled: (requestId: string) => void;
}

type Arguments = Record<string, unknown>;

export function ToolForm({ tool, first, onCalled }: ToolFormProps) {
  const form = useFormState(tool.input_schema, first);
  const [asked, ask] = useState<Arguments | null>(null);
  const onError = (error: Error): void => form.setFaults(faultsOf(error, form.fields));
  const submission = useCallSubmission(tool.name, { onCalled, onError });
  const { error } = submission;

  function press(event?: SubmitEvent): void {
    event?.preventDefault();
    const read = form.read();
    if (read === null) return;
    if (tool.effect === 'once') ask(read);
    else submission.submit(read);
  }

  return (
    <form className="tools-form" noValidate onSubmit={press}>
      <FormBody form={form} label="Arguments as JSON" none="The tool takes no arguments." />
      <Actions form={form} tool={tool} isPending={submission.isPending} />
      {error !== null && (
        <ErrorBanner error={error} {...(error instanceof NoAnswer ? { onRetry: () => press() } : {})} />
      )}
      <OnceDialog
        name={tool.name}
        args={asked}
        onClose={() => ask(null)}
        onCall={(args) => {
          ask(null);
          submission.submit(args);
        }}
      />
    </form>
  );
}

interface FormBodyProps {
  readonly form: FormState;
  /** Name of the field for the whole value. */
  readonly label: string;
  /** Text where the schema has no member. */
  readonly none: string;
}

/** The fields of a schema, or its whole value as JSON. */
export function FormBody({ form, label, none }: FormBodyProps) {
  if (form.json === null) return <Fields form={form} none={none} />;
  return <Whole form={form} text={form.json} label={label} />;
}

function Fields({ form, none }: Pick<FormBodyProps, 'form' | 'none'>) {
  const general = faultAt(form.faults, []);
  return (
    <>
      {form.fields.length === 0 && <p className="muted">{none}</p>}
      {form.fields.map((field) => (
        <FormFieldView
          key={field.name}
          field={field}
          written={form.values.get(field.name)}
          onWrite={(written) => form.write(field.name, written)}
          faults={form.faults}
          path={[field.name]}
        />
      ))}
      {general !== null && <p className="field-error">{general}</p>}
    </>
  );
}

function Whole({ form, text, label }: Pick<FormBodyProps, 'form' | 'label'> & { readonly text: string }) {
  return (
    <div className="tools-whole">
      <TextAreaField
        label={label}
        error={wholeFault(form.faults)}
        value={text}
        onChange={(event) => form.writeJson(event.target.value)}
        spellCheck={false}
      />
    </div>
  );
}

function wholeFault(faults: readonly FieldFault[]): string | null {
  if (faults.length === 0) return null;
  return faults.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(' ')).join('; ');
}

function Actions({ form, tool, isPending }: { form: FormState; tool: ListedTool; isPending: boolean }) {
  const why = useWhyNot('submit');
  return (
    <div className="row">
      <Button type="submit" look="primary" why={why} disabled={isPending}>
        <span>
          Call <Text>{tool.name}</Text>
          {tool.effect === 'once' && '…'}
        </span>
      </Button>
      {form.json === null && <Button onClick={form.toJson}>Edit as JSON</Button>}
      {form.json !== null && form.hasForm && <Button onClick={form.toForm}>Back to the form</Button>}
    </div>
  );
}

interface OnceDialogProps {
  readonly name: string;
  /** null: it is closed. */
  readonly args: Arguments | null;
  readonly onClose: () => void;
  readonly onCall: (args: Arguments) => void;
}

function OnceDialog({ name, args, onClose, onCall }: OnceDialogProps) {
  const act = (
    <Button look="primary" onClick={() => args !== null && onCall(args)}>
      Call once
    </Button>
  );
  return (
    <Dialog isOpen={args !== null} onClose={onClose} title={`Call ${name}?`} closeText="Cancel" actions={act}>
      <p>Its effect is once: each call acts once more, and it cannot be taken back.</p>
      <Json value={args} label="arguments" />
    </Dialog>
  );
}

/** Faults of a field are shown at the field as well. */
function faultsOf(error: Error, fields: readonly FormField[]): FieldFault[] {
  const errors = error instanceof Refused ? (error.problem.errors ?? []) : [];
  return placedFaults(errors, fields).filter(({ path }) => path.length > 0);
}
