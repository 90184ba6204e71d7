/** Forks a run at a turn: the turns before it are taken from the record, the rest is made anew in a new request.
 *  Never lets a `once` tool act without a question to a person unless that is chosen here. */
import { useState } from 'react';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import type { ForkBody } from '../../../src/contract/run/again.ts';
import { jsonOrText } from '../../data/typed-json.ts';
import { AskDialog } from '../../parts/dialog.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { Select } from '../../parts/select.tsx';
import { useRepeat } from './again-dialog.tsx';

interface ForkProps {
  readonly view: RequestView;
  readonly at: number;
  readonly onClose: () => void;
}

interface ForkTexts {
  readonly say: string;
  readonly model: string;
  readonly prompt: string;
}

type Results = Readonly<Record<string, string>>;

export function ForkDialog({ view, at, onClose }: ForkProps) {
  const [texts, setTexts] = useState<ForkTexts>({ say: '', model: '', prompt: '' });
  const [results, setResults] = useState<Results>({});
  const [rule, choose] = useState<Rule>('ask');
  const { repeat, error, isPending } = useRepeat(view.request_id, 'fork');
  const field = (name: keyof ForkTexts) => ({
    optional: true,
    value: texts[name],
    onChange: ({ target }: { target: { value: string } }) => setTexts({ ...texts, [name]: target.value }),
  });
  return (
    <AskDialog
      onClose={onClose}
      title={`Fork at turn ${at}?`}
      verb="Fork"
      isOff={isPending}
      onAct={() => repeat({ at, ...changesOf(texts, results), ...RULES[rule].body })}
      error={error}
    >
      <p>
        A new request asks the model of turn {at} again.{' '}
        {at === 1
          ? 'No turn is before it.'
          : 'The turns before it are taken from the record and not paid again.'}
      </p>
      <TextAreaField label="Message" hint="The user says this before the turn." rows={3} {...field('say')} />
      <TextField label="Model" hint="provider:model" spellCheck={false} {...field('model')} />
      <TextAreaField label="System prompt" hint="Default: as the original." rows={3} {...field('prompt')} />
      <OtherResults calls={callsBefore(view, at)} results={results} onResults={setResults} />
      <fieldset className="stack">
        <legend>Tools</legend>
        {(Object.keys(RULES) as Rule[]).map((each) => (
          <label key={each} className="field-check">
            <input type="radio" name="rule" checked={each === rule} onChange={() => choose(each)} />
            {RULES[each].text}
          </label>
        ))}
      </fieldset>
    </AskDialog>
  );
}

type Rule = 'ask' | 'act' | 'dry';

/** A `once` call with equal arguments is always answered from the record. */
const RULES: Readonly<Record<Rule, { readonly text: string; readonly body: Pick<ForkBody, 'act' | 'dry'> }>> =
  {
    ask: { text: 'Call read and idempotent tools; ask a person before a new once call.', body: {} },
    act: { text: 'Call all tools; a new once call acts without a question.', body: { act: true } },
    dry: {
      text: 'Dry: call none; answer from the record, and stop at the first call that has no answer there.',
      body: { dry: true },
    },
  };

function changesOf({ say, model, prompt }: ForkTexts, results: Results): Omit<ForkBody, 'at'> {
  const given = Object.entries(results).map(([id, text]) => [id, jsonOrText(text)] as const);
  return {
    ...(say.trim() === '' ? {} : { say }),
    ...(model.trim() === '' ? {} : { model: model.trim() }),
    ...(prompt.trim() === '' ? {} : { system_prompt: prompt }),
    ...(given.length === 0 ? {} : { results: Object.fromEntries(given) }),
  };
}

const CALL_OF_TURN = /^tool-(?<turn>\d+)-\d+$/;
/** A menu of more cannot be read. */
const MOST_CALLS = 50;

/** The newest tool calls before the turn: their ids name the turn that made them. */
function callsBefore({ directives }: RequestView, at: number): string[] {
  return directives
    .map(({ id }) => id)
    .filter((id) => Number(CALL_OF_TURN.exec(id)?.groups?.['turn'] ?? Infinity) < at)
    .slice(-MOST_CALLS);
}

interface ResultsProps {
  readonly calls: readonly string[];
  readonly results: Results;
  readonly onResults: (results: Results) => void;
}

function OtherResults({ calls, results, onResults }: ResultsProps) {
  const left = calls.filter((id) => results[id] === undefined);
  if (calls.length === 0) return null;
  return (
    <>
      {Object.entries(results).map(([id, text]) => (
        <TextAreaField
          key={id}
          label={`Result of ${id}`}
          hint="The model reads this in place of the recorded result: a text, or JSON."
          rows={3}
          value={text}
          onChange={({ target }) => onResults({ ...results, [id]: target.value })}
        />
      ))}
      {left.length > 0 && (
        <Select
          label="Change the result of a call"
          value=""
          options={[['', 'Change the result of…'], ...left.map((id) => [id, id] as const)]}
          onChange={(id) => id !== '' && onResults({ ...results, [id]: '' })}
        />
      )}
    </>
  );
}
