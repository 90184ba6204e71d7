/** The state of a tool's form: its fields, or the same arguments as JSON.
 *  It must never lose what was written when it changes from one to the other. */
import { useMemo, useState } from 'react';
import { type FormField, formFields } from './form-fields.ts';
import { type FieldFault, readForm, readWhole, type Values, type Written, writtenOf } from './form-values.ts';

const NONE: readonly FormField[] = [];

export interface FormState {
  readonly fields: readonly FormField[];
  /** Whether the schema can be a form at all. */
  readonly hasForm: boolean;
  readonly values: Values;
  /** null: the fields are shown. */
  readonly json: string | null;
  /** Whether a person has written in it. */
  readonly isWritten: boolean;
  readonly faults: readonly FieldFault[];
  setFaults(faults: readonly FieldFault[]): void;
  write(name: string, written: Written | undefined): void;
  writeJson(text: string): void;
  toJson(): void;
  toForm(): void;
  /** The arguments; null: there are faults, which are shown now. */
  read(): Record<string, unknown> | null;
}

/** `first`: arguments that are there at the beginning; null: none. */
export function useFormState(schema: unknown, first: Record<string, unknown> | null = null): FormState {
  const made = useMemo(() => formFields(schema), [schema]);
  const fields = made ?? NONE;
  // Arguments that no field has are shown as JSON.
  const isWhole = made === null || (first !== null && unknownMembers(first, fields).length > 0);
  const [values, setValues] = useState<Values>(() => writtenOf(fields, isWhole ? {} : (first ?? {})));
  const [json, setJson] = useState<string | null>(isWhole ? JSON.stringify(first ?? {}, null, 2) : null);
  const [isWritten, setWritten] = useState(false);
  const [faults, setFaults] = useState<readonly FieldFault[]>([]);

  return {
    fields,
    hasForm: made !== null,
    values,
    json,
    isWritten,
    faults,
    setFaults,
    write(name, written) {
      setWritten(true);
      setValues((old) => withMember(old, name, written));
    },
    writeJson(text) {
      setWritten(true);
      setJson(text);
    },
    toJson() {
      const { value, faults: found } = readForm(fields, values);
      // A field that nobody has filled in is no reason to stay; text that is no number is.
      const lost = found.filter(({ message }) => message !== 'is required');
      setFaults(lost);
      if (lost.length === 0) setJson(JSON.stringify(value, null, 2));
    },
    toForm() {
      const { value, faults: found } = readWhole(json ?? '');
      const lost = [...found, ...unknownMembers(value, fields)];
      setFaults(lost);
      if (lost.length > 0) return;
      setValues(writtenOf(fields, value));
      setJson(null);
    },
    read() {
      const { value, faults: found } = json === null ? readForm(fields, values) : readWhole(json);
      setFaults(found);
      return found.length === 0 ? value : null;
    },
  };
}

function unknownMembers(value: Record<string, unknown>, fields: readonly FormField[]): FieldFault[] {
  const unknown = Object.keys(value).filter((name) => !fields.some((field) => field.name === name));
  return unknown.map((name) => ({ path: [], message: `the form has no field for "${name}"` }));
}

export function withMember(values: Values, name: string, written: Written | undefined): Values {
  const next = new Map(values);
  if (written === undefined) next.delete(name);
  else next.set(name, written);
  return next;
}
