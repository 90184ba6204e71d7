/** Two JSON values and their differences: results or arguments of two steps, or pasted texts. Reads steps and changes nothing. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DirectiveView, RequestView } from '../../../src/contract/request/request-view.ts';
import { call, path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { inTenant } from '../../data/tenant.ts';
import { readJson } from '../../data/typed-json.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ReadError } from '../../parts/banner.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { JsonDiff } from '../../parts/json.tsx';
import { Page } from '../../parts/page.tsx';
import { Select } from '../../parts/select.tsx';
import './differences.css';

const PARTS = [
  ['', 'Results of steps'],
  ['arguments', 'Arguments of steps'],
] as const;

export function DifferencesPage() {
  const [part, setPart] = useUrlState('part');
  const first = useSide('a', part);
  const second = useSide('b', part);
  const error = first.error ?? second.error;
  const isReady = first.value !== undefined && second.value !== undefined;
  return (
    <Page title="Compare two values">
      <div className="row">
        <Select label="Compared part" value={part} options={PARTS} onChange={setPart} />
      </div>
      <div className="differences-sides">
        <Side name="First" side={first} near={second.step} />
        <Side name="Second" side={second} near={first.step} />
      </div>
      {error !== null && <ReadError error={error} />}
      {isReady ? (
        <section aria-label="Differences">
          <JsonDiff a={first.value} b={second.value} label="differences" />
        </section>
      ) : (
        error === null && <p className="muted">Name a step or paste JSON on both sides.</p>
      )}
    </Page>
  );
}

interface SideState {
  /** `request/step`; '' where JSON is pasted. */
  readonly step: string;
  readonly pasted: string;
  /** undefined: not known yet. */
  readonly value: unknown;
  readonly error: Error | null;
  readonly fault: string | null;
  readonly onStep: (step: string) => void;
  readonly onPaste: (text: string) => void;
}

function useSide(name: 'a' | 'b', part: string): SideState {
  const [step, setStep] = useUrlState(name);
  const [pasted, paste] = useState('');
  const read = useValue(step.trim(), part);
  const typed = pasted.trim() === '' ? null : readJson(pasted);
  return {
    step,
    pasted,
    value: typed === null ? read.data : 'value' in typed ? typed.value : undefined,
    error: typed === null ? read.error : null,
    fault: typed !== null && 'fault' in typed ? typed.fault : null,
    onStep: setStep,
    onPaste: paste,
  };
}

function useValue(step: string, part: string) {
  const slash = step.indexOf('/');
  const [requestId, id] = [step.slice(0, slash), step.slice(slash + 1)];
  const place = path`/v1/requests/${requestId}/directives/${id}`;
  return useQuery<unknown>({
    queryKey: ['value', inTenant(place), part],
    queryFn: async ({ signal }) => {
      if (part === '') return (await call<unknown>('GET', `${place}/payload`, { signal })) ?? null;
      const { directive } = await call<DirectiveView>('GET', place, { signal });
      return 'arguments' in directive ? directive.arguments : {};
    },
    enabled: slash > 0 && id !== '',
    staleTime: Infinity,
    retry: false,
  });
}

/** A menu of more cannot be read. */
const MOST_STEPS = 200;

function Side({ name, side, near }: { name: string; side: SideState; near: string }) {
  const { step, pasted, fault, onStep, onPaste } = side;
  const requestId = (step.includes('/') ? step : near).split('/')[0] ?? '';
  const { data } = useRead<RequestView>(path`/v1/requests/${requestId}`, { enabled: requestId !== '' });
  const list = `steps-${name}`;
  return (
    <section className="stack" aria-label={`${name} value`}>
      <TextField
        label={`${name} step`}
        hint="request/step"
        optional
        spellCheck={false}
        list={list}
        value={step}
        onChange={({ target }) => onStep(target.value)}
      />
      <datalist id={list}>
        {(data?.directives ?? []).slice(0, MOST_STEPS).map(({ id }) => (
          <option key={id} value={`${requestId}/${id}`} />
        ))}
      </datalist>
      <TextAreaField
        label={`${name} JSON`}
        hint="Pasted JSON is used in place of the step. It stays in this page."
        optional
        error={fault}
        rows={4}
        spellCheck={false}
        value={pasted}
        onChange={({ target }) => onPaste(target.value)}
      />
    </section>
  );
}
