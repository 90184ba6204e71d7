/** Resumes a run from the failed step: with a message, another model, other limits, and a decision about each call of unknown outcome.
 *  Never resumes twice: a repeat after a lost answer has the same key. */
import { useState } from 'react';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import type { ResumedRun, ResumeRunBody, UnknownDecision } from '../../../src/contract/run/run.ts';
import { isObject } from '../../../src/contract/json/json-object.ts';
import { call, path, Refused } from '../../data/api.ts';
import { TextIds } from '../../data/new-id.ts';
import { useChange } from '../../data/queries.ts';
import { jsonOrText } from '../../data/typed-json.ts';
import { Banner } from '../../parts/banner.tsx';
import { AskDialog } from '../../parts/dialog.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { Select } from '../../parts/select.tsx';
import { Text } from '../../parts/text.tsx';
import { toast } from '../../parts/toast.ts';
import { type LimitTexts, limitsOf, LIMITS, modelOf } from '../../data/change-texts.ts';

interface ResumeProps {
  readonly view: RequestView;
  readonly onClose: () => void;
}

/** A call of which nothing says whether it has acted, as the refusal of a resume names it. */
interface UnknownCall {
  readonly id: string;
  readonly tool: string;
}

type Decisions = Readonly<
  Record<string, { readonly action: UnknownDecision['action'] | ''; result: string }>
>;

export function ResumeDialog({ view, onClose }: ResumeProps) {
  const [message, type] = useState('');
  const [model, nameModel] = useState('');
  const [limits, limit] = useState<LimitTexts>({});
  const [decisions, decide] = useState<Decisions>({});
  const [calls, setCalls] = useState<readonly UnknownCall[]>([]);
  const resume = useResume(view.request_id);
  const isUndecided = calls.some(({ id }) => (decisions[id]?.action ?? '') === '');
  const act = (): void => {
    const input = message.trim() === '' ? {} : { input: message };
    const body = { ...overridesOf(model, limits), decisions: decisionsOf(decisions), ...input };
    resume.mutate(body, {
      onSuccess: () => {
        onClose();
        toast('The run continues.');
      },
      onError: (error) => setCalls((old) => unknownCallsOf(error) ?? old),
    });
  };
  return (
    <AskDialog
      onClose={onClose}
      title="Resume the run?"
      focus="first"
      verb="Resume"
      isOff={resume.isPending || isUndecided}
      onAct={act}
      error={resume.error !== null && unknownCallsOf(resume.error) === null ? resume.error : null}
    >
      <p>
        The failed step is made again; calls that have succeeded are not. A failed model call is paid again.
      </p>
      {calls.length > 0 && <Unknown calls={calls} decisions={decisions} onDecide={decide} />}
      <TextAreaField
        label="Message"
        optional
        hint="The run reads it before its next model call."
        value={message}
        onChange={({ target }) => type(target.value)}
      />
      <TextField
        label="Model"
        optional
        hint="provider:model, or an alias, from here on."
        value={model}
        spellCheck={false}
        onChange={({ target }) => nameModel(target.value)}
      />
      <Limits isOpen={isOfLimit(view)} limits={limits} onLimit={limit} />
    </AskDialog>
  );
}

function useResume(requestId: string) {
  const [keys] = useState(() => new TextIds());
  return useChange(async (body: ResumeRunBody) =>
    call<ResumedRun>('POST', path`/v1/requests/${requestId}/resume`, {
      body,
      headers: { 'idempotency-key': keys.of(JSON.stringify(body)) },
    }),
  );
}

function overridesOf(model: string, texts: LimitTexts): Pick<ResumeRunBody, 'overrides'> {
  const limits = limitsOf(texts);
  const overrides = { ...modelOf(model), ...(Object.keys(limits).length === 0 ? {} : { limits }) };
  return Object.keys(overrides).length === 0 ? {} : { overrides };
}

/** A run that met a limit is resumed with a higher one. */
function isOfLimit({ run }: RequestView): boolean {
  const reason = run?.termination_reason ?? '';
  return reason.startsWith('max_') || reason.startsWith('budget') || run?.status === 'timeout';
}

interface LimitsProps {
  readonly isOpen: boolean;
  readonly limits: LimitTexts;
  readonly onLimit: (limits: LimitTexts) => void;
}

function Limits({ isOpen, limits, onLimit }: LimitsProps) {
  return (
    <details open={isOpen}>
      <summary>Limits, counted from the start of the run</summary>
      <div className="fields-row">
        {LIMITS.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            optional
            inputMode="decimal"
            value={limits[name] ?? ''}
            onChange={({ target }) => onLimit({ ...limits, [name]: target.value })}
          />
        ))}
      </div>
    </details>
  );
}

const ACTIONS = [
  ['', 'Decide…'],
  ['repeat', 'Repeat the call: it may act twice'],
  ['skip', 'Skip it: the run reads an error'],
  ['done', 'It was done: the run reads this result'],
] as const;

interface UnknownProps {
  readonly calls: readonly UnknownCall[];
  readonly decisions: Decisions;
  readonly onDecide: (decisions: Decisions) => void;
}

function Unknown({ calls, decisions, onDecide }: UnknownProps) {
  return (
    <>
      <Banner tone="wait">
        It is unknown whether these calls have acted. Check it, then decide for each.
      </Banner>
      {calls.map(({ id, tool }) => {
        const { action, result } = decisions[id] ?? { action: '', result: '' };
        const change = (next: Partial<Decisions[string]>): void =>
          onDecide({ ...decisions, [id]: { action, result, ...next } });
        return (
          <div key={id} className="stack">
            <div className="row">
              <b>
                <Text>{tool}</Text>
              </b>
              <code className="faint">{id}</code>
              <Select
                label={`Decision about ${id}`}
                value={action}
                options={ACTIONS}
                onChange={(next) => change({ action: next as UnknownDecision['action'] })}
              />
            </div>
            {action === 'done' && (
              <TextField
                label={`Result of ${id}`}
                hint="A text, or JSON."
                value={result}
                onChange={({ target }) => change({ result: target.value })}
              />
            )}
          </div>
        );
      })}
    </>
  );
}

function decisionsOf(decisions: Decisions): Record<string, UnknownDecision> {
  return Object.fromEntries(
    Object.entries(decisions).flatMap(([id, { action, result }]): [string, UnknownDecision][] => {
      if (action === '') return [];
      return [[id, action === 'done' ? { action, result: jsonOrText(result) } : { action }]];
    }),
  );
}

/** null: the error is another one. */
function unknownCallsOf(error: Error): readonly UnknownCall[] | null {
  if (!(error instanceof Refused) || error.problem.code !== 'outcome_unknown') return null;
  const { calls } = error.problem;
  if (!Array.isArray(calls)) return null;
  return calls
    .filter(isObject)
    .map(({ id, tool_name: tool }) => ({ id: String(id), tool: String(tool ?? id) }));
}
