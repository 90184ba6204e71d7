/** One field of a tool's form, as its kind asks for it.
 *  It must never show a word of the schema as anything but text. */
import type { ReactNode } from 'react';
import { Field, TextAreaField } from '../../parts/field.tsx';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Json } from '../../parts/json.tsx';
import { Text } from '../../parts/text.tsx';
import { safeText } from '../../data/safe-text.ts';
import { faultAt } from './fault-places.ts';
import { limitWords } from './field-limits.ts';
import type { FormField } from './form-fields.ts';
import { withMember } from './form-state.ts';
import type { FieldFault, Values, Written } from './form-values.ts';

export interface FormFieldProps {
  readonly field: FormField;
  readonly written: Written | undefined;
  readonly onWrite: (written: Written | undefined) => void;
  readonly faults: readonly FieldFault[];
  readonly path: readonly (string | number)[];
}

export function FormFieldView(props: FormFieldProps) {
  switch (props.field.kind) {
    case 'group':
      return <Group {...props} />;
    case 'list':
      return <List {...props} />;
    case 'boolean':
      return <Mark {...props} />;
    case 'choice':
      return <Choice {...props} />;
    case 'json':
      return <JsonField {...props} />;
    case 'text':
    case 'lines':
    case 'number':
    case 'integer':
      return <Single {...props} />;
  }
}

function hintOf({ description, limits }: FormField) {
  const words = limitWords(limits).join(' · ');
  return (
    <>
      <Text>{description}</Text>
      {description !== '' && words !== '' && ' · '}
      <Text>{words}</Text>
    </>
  );
}

function labelOf({ field, faults, path }: FormFieldProps) {
  return {
    label: safeText(field.title),
    hint: hintOf(field),
    error: faultAt(faults, path),
    optional: !field.isRequired,
  };
}

function Single(props: FormFieldProps) {
  const { field, written, onWrite } = props;
  const value = typeof written === 'string' ? written : '';
  const write = (event: { target: { value: string } }): void => onWrite(event.target.value);
  if (field.kind === 'lines')
    return <TextAreaField {...labelOf(props)} value={value} onChange={write} spellCheck={false} />;
  const isNumber = field.kind === 'number' || field.kind === 'integer';
  return (
    <Field {...labelOf(props)}>
      {(ids) => (
        <input
          {...ids}
          className="input"
          value={value}
          onChange={write}
          inputMode={isNumber ? 'decimal' : 'text'}
          autoComplete="off"
        />
      )}
    </Field>
  );
}

function Choice(props: FormFieldProps) {
  const { field, written, onWrite } = props;
  return (
    <Field {...labelOf(props)}>
      {(ids) => (
        <select
          {...ids}
          className="input tools-choice"
          value={typeof written === 'string' ? written : ''}
          onChange={(event) => onWrite(event.target.value)}
        >
          <option value="">{field.isRequired ? 'Choose…' : 'Not given'}</option>
          {field.choices.map(({ label }, place) => (
            <option key={place} value={String(place)}>
              {safeText(label)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Mark(props: FormFieldProps) {
  const { field, written, onWrite, faults, path } = props;
  const fault = faultAt(faults, path);
  return (
    <div className="field">
      <label className="tools-mark">
        <input
          type="checkbox"
          checked={written === true}
          onChange={(event) => onWrite(event.target.checked)}
        />
        <span>
          <Text>{field.title}</Text> <span className="faint">{hintOf(field)}</span>
        </span>
      </label>
      {fault !== null && <div className="field-error">{fault}</div>}
    </div>
  );
}

function JsonField(props: FormFieldProps) {
  const { field, written, onWrite } = props;
  return (
    <div className="tools-json">
      <TextAreaField
        {...labelOf(props)}
        placeholder="JSON"
        value={typeof written === 'string' ? written : ''}
        onChange={(event) => onWrite(event.target.value)}
        spellCheck={false}
      />
      <details>
        <summary className="muted">Its schema</summary>
        <Json value={field.schema} label={`schema of ${safeText(field.title)}`} />
      </details>
    </div>
  );
}

function Group({ field, written, onWrite, faults, path }: FormFieldProps) {
  const values: Values = written instanceof Map ? (written as Values) : new Map();
  return (
    <Fields of={field} fault={faultAt(faults, path)}>
      {field.fields.map((inner) => (
        <FormFieldView
          key={inner.name}
          field={inner}
          written={values.get(inner.name)}
          onWrite={(next) => onWrite(withMember(values, inner.name, next))}
          faults={faults}
          path={[...path, inner.name]}
        />
      ))}
    </Fields>
  );
}

/** More rows than this are written as JSON. */
const MOST_ENTRIES = 100;

function List({ field, written, onWrite, faults, path }: FormFieldProps) {
  const entries = Array.isArray(written) ? (written as readonly string[]) : [];
  const [entry] = field.fields;
  if (entry === undefined) return null;
  return (
    <Fields of={field} fault={faultAt(faults, path)}>
      {entries.map((text, place) => (
        // Entries have no name but their place.
        <div className="tools-entry" key={place}>
          <FormFieldView
            field={{ ...entry, title: `${field.title} ${place + 1}`, description: '' }}
            written={text}
            onWrite={(next) => onWrite(entries.with(place, typeof next === 'string' ? next : ''))}
            faults={faults}
            path={[...path, place]}
          />
          <Button
            look="ghost"
            aria-label={`Remove ${safeText(field.title)} ${place + 1}`}
            onClick={() => onWrite(entries.toSpliced(place, 1))}
          >
            <Icon name="cross" />
          </Button>
        </div>
      ))}
      <Button
        why={entries.length >= MOST_ENTRIES ? 'More entries are written as JSON.' : null}
        onClick={() => onWrite([...entries, ''])}
      >
        Add {safeText(field.title)}
      </Button>
    </Fields>
  );
}

/** Fields under the title, the hint and the fault of the one that they make up. */
function Fields({ of, fault, children }: { of: FormField; fault: string | null; children: ReactNode }) {
  return (
    <fieldset className="tools-group">
      <legend>
        <Text>{of.title}</Text> {!of.isRequired && <span className="field-optional">optional</span>}
      </legend>
      <p className="faint">{hintOf(of)}</p>
      <Fault of={fault} />
      {children}
    </fieldset>
  );
}

function Fault({ of }: { of: string | null }) {
  return of === null ? null : <p className="field-error">{of}</p>;
}
