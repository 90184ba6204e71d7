/** Runs a request, or one directive of it, again as a new request, with changes where some are typed.
 *  Never makes two requests of one press: a repeat after a lost answer has the same id. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { redrivenAs } from '../../../src/contract/directive/redriven.ts';
import type { DirectiveView, RequestView } from '../../../src/contract/request/request-view.ts';
import type { AgainBody, ForkBody, RepeatedRequest } from '../../../src/contract/run/again.ts';
import type { ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import { call, path } from '../../data/api.ts';
import { modelOf, namesOf } from '../../data/change-texts.ts';
import { effectsOf, effectWords } from '../../data/effect-words.ts';
import { TextIds } from '../../data/new-id.ts';
import { useChange, useRead } from '../../data/queries.ts';
import { objectFault, readObject, textOf } from '../../data/typed-json.ts';
import { AgentSelect } from '../../parts/agent-select.tsx';
import { AskDialog } from '../../parts/dialog.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { toast } from '../../parts/toast.ts';

interface AgainProps {
  readonly view: RequestView;
  /** Default: the run, or the only directive. */
  readonly directiveId?: string | undefined;
  readonly onClose: () => void;
}

export function AgainDialog({ view, directiveId, onClose }: AgainProps) {
  if (view.run !== undefined && directiveId === undefined)
    return <RunAgain view={view} run={view.run} onClose={onClose} />;
  const own = view.directives.filter(({ id }) => redrivenAs(id, view.directives) === null);
  const id = directiveId ?? (own.length === 1 ? own[0]?.id : view.directives[0]?.id) ?? '';
  return <DirectiveAgain requestId={view.request_id} id={id} onClose={onClose} />;
}

/** Submits `again` or `fork`, then opens the new request. */
export function useRepeat(requestId: string, kind: 'again' | 'fork') {
  const [ids] = useState(() => new TextIds());
  const navigate = useNavigate();
  const change = useChange(async (body: AgainBody | ForkBody) =>
    call<RepeatedRequest>('POST', `${path`/v1/requests/${requestId}`}/${kind}`, {
      body: { ...body, request_id: ids.of(JSON.stringify(body)) },
    }),
  );
  const repeat = (body: AgainBody | ForkBody): void =>
    change.mutate(body, {
      onSuccess: ({ request_id: next }) => {
        toast(kind === 'fork' ? 'Forked: this is the new request.' : 'Run again: this is the new request.');
        void navigate({ to: '/requests/$requestId', params: { requestId: next } as never });
      },
    });
  return { repeat, error: change.error, isPending: change.isPending };
}

interface RunTexts {
  readonly query: string;
  readonly agent: string;
  readonly model: string;
  readonly tools: string;
  readonly overrides: string;
}

type RunAgainProps = Omit<AgainProps, 'directiveId'> & { readonly run: NonNullable<RequestView['run']> };

function RunAgain({ view, run, onClose }: RunAgainProps) {
  const first = { query: run.query, agent: run.agent, model: '', tools: '', overrides: '' };
  const [texts, setTexts] = useState<RunTexts>(first);
  const { repeat, error, isPending } = useRepeat(view.request_id, 'again');
  const write = (name: keyof RunTexts, text: string): void => setTexts({ ...texts, [name]: text });
  const fault = texts.overrides.trim() === '' ? null : objectFault(texts.overrides);
  const field = (name: keyof RunTexts) => ({
    value: texts[name],
    spellCheck: false,
    onChange: ({ target }: { target: { value: string } }) => write(name, target.value),
  });
  return (
    <AskDialog
      verb="Run again"
      title="Run this again?"
      isOff={isPending || fault !== null || texts.query.trim() === ''}
      error={error}
      onAct={() => repeat(runChanges(texts, run))}
      onClose={onClose}
    >
      <p>A new request: its model calls are paid, and every tool that it calls acts again.</p>
      <TextAreaField label="Task" {...field('query')} />
      <div className="row">
        Agent <AgentSelect agent={texts.agent} onAgent={(agent) => write('agent', agent)} />
      </div>
      <TextField label="Model" optional hint="provider:model, or an alias." {...field('model')} />
      <TextField label="Tools" optional hint="Only these of the agent's tools." {...field('tools')} />
      <TextAreaField
        label="Overrides"
        optional
        hint='Further changes to the agent, as {"temperature": 0}.'
        error={fault}
        rows={3}
        {...field('overrides')}
      />
    </AskDialog>
  );
}

/** Only what was changed: the original has the rest. */
function runChanges(
  { query, agent, model, tools, overrides }: RunTexts,
  run: RunAgainProps['run'],
): AgainBody {
  const read = readObject(overrides.trim() === '' ? '{}' : overrides);
  const { model: named, ...alias } = modelOf(model);
  const allowed = namesOf(tools);
  const changes = {
    ...('value' in read ? read.value : {}),
    ...alias,
    ...(allowed.length === 0 ? {} : { allowed_tools: allowed }),
  };
  return {
    ...(query === run.query ? {} : { query }),
    ...(agent === run.agent ? {} : { agent }),
    ...(named === undefined ? {} : { model: named }),
    ...(Object.keys(changes).length === 0 ? {} : { overrides: changes }),
  };
}

interface DirectiveAgainProps {
  readonly requestId: string;
  readonly id: string;
  readonly onClose: () => void;
}

function DirectiveAgain({ requestId, id, onClose }: DirectiveAgainProps) {
  const { data, error: unread } = useRead<DirectiveView>(path`/v1/requests/${requestId}/directives/${id}`);
  const [typed, type] = useState<string | null>(null);
  const [model, nameModel] = useState('');
  const { repeat, error, isPending } = useRepeat(requestId, 'again');
  const directive = data?.directive as Readonly<Record<string, unknown>> | undefined;
  const shown = JSON.stringify(directive?.['arguments'] ?? {}, null, 2);
  const text = typed ?? shown;
  const fault = text === shown ? null : objectFault(text);
  const isTool = directive?.['type'] === 'tool_exec';
  const act = (): void => {
    const read = text === shown ? null : readObject(text);
    const changed = read !== null && 'value' in read ? { arguments: read.value } : {};
    repeat({ directive: id, ...changed, ...(model.trim() === '' ? {} : { model: model.trim() }) });
  };
  const isModel = textOf(directive?.['type']).startsWith('llm_');
  return (
    <AskDialog
      verb="Run again"
      title={`Run ${id} again?`}
      isOff={isPending || directive === undefined || fault !== null}
      error={error ?? unread}
      onAct={act}
      onClose={onClose}
    >
      {isTool && <ToolEffect name={String(directive['tool_name'])} server={directive['server']} />}
      {isModel && <p>A new request: the model is asked, and paid, again.</p>}
      {isTool && (
        <TextAreaField
          label="Arguments"
          hint="A JSON object. Unchanged, those of the original are used, redacted values included."
          error={fault}
          rows={8}
          spellCheck={false}
          value={text}
          onChange={({ target }) => type(target.value)}
        />
      )}
      {isModel && (
        <TextField
          label="Model"
          optional
          hint="provider:model"
          spellCheck={false}
          value={model}
          onChange={({ target }) => nameModel(target.value)}
        />
      )}
    </AskDialog>
  );
}

function ToolEffect({ name, server }: { name: string; server: unknown }) {
  const { data } = useRead<ToolListing>('/v1/tools?remembered=true');
  if (data === undefined) return null;
  const whole = typeof server === 'string' && !name.startsWith(`${server}.`) ? `${server}.${name}` : name;
  const effect = effectsOf(data.tools).get(whole) ?? null;
  return (
    <p>
      A new request. Effect: {effect ?? 'unknown'}. {effectWords(effect)}
    </p>
  );
}
