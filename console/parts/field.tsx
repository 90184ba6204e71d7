/** A labelled input: its name, a hint, and what is wrong with it.
 *  It must never lose what was typed. */
import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId } from 'react';
import './field.css';

interface Labelled {
  readonly label: string;
  readonly hint?: ReactNode;
  /** Fault of the value; null: none. */
  readonly error?: string | null;
  readonly optional?: boolean;
}

export interface FieldProps extends Labelled {
  /** Gets the id of the input, and of what describes it. */
  readonly children: (ids: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ReactNode;
}

export function Field({ label, hint, error = null, optional = false, children }: FieldProps) {
  const id = useId();
  const notes = `${id}-notes`;
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {optional && <span className="field-optional">optional</span>}
      </label>
      {children({ id, 'aria-describedby': notes, 'aria-invalid': error !== null })}
      <div id={notes} className="field-notes">
        {error !== null && <span className="field-error">{error}</span>}
        {hint !== undefined && <span>{hint}</span>}
      </div>
    </div>
  );
}

export type TextFieldProps = Labelled & InputHTMLAttributes<HTMLInputElement>;

export function TextField({ label, hint, error = null, optional = false, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(ids) => <input {...rest} {...ids} className="input" />}
    </Field>
  );
}

export type TextAreaFieldProps = Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>;

export function TextAreaField({ label, hint, error = null, optional = false, ...rest }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(ids) => <textarea {...rest} {...ids} className="input" />}
    </Field>
  );
}
