/** Actions on the whole request: send a message, resume, run again, fork, cancel, copy, open the trace.
 *  Never repeats an action by itself. */
import { useState } from 'react';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import { call, path } from '../../data/api.ts';
import { TextIds } from '../../data/new-id.ts';
import { useChange, useRead } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { useKeys } from '../../keys/keymap.ts';
import { Button } from '../../parts/button.tsx';
import { copy } from '../../parts/copy-button.tsx';
import { AskDialog } from '../../parts/dialog.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { toast } from '../../parts/toast.ts';
import { AgainDialog } from './again-dialog.tsx';
import { copiesOf, type Submission } from './copies.ts';
import { ForkDialog } from './fork-dialog.tsx';
import { ResumeDialog } from './resume-dialog.tsx';

/** The action that a dialog confirms. `again`: the whole request, or one directive; `fork`: the turn whose model call is made anew. */
export type Act =
  | { readonly kind: 'say' | 'resume' | 'cancel' }
  | { readonly kind: 'again'; readonly directiveId?: string }
  | { readonly kind: 'fork'; readonly at: number };

interface ActionsProps {
  readonly view: RequestView;
  /** The buttons under the title resume and run again. */
  readonly hasFailed: boolean;
  readonly onAsk: (act: Act) => void;
}

export function RequestActions({ view, hasFailed, onAsk }: ActionsProps) {
  const cannotSubmit = useWhyNot('submit');
  const cannotCancel = useWhyNot('cancel');
  const isOpen = view.status === 'open';
  const why = cannotSubmit;
  useKeys({ c: () => void copy(location.href, 'link') });
  return (
    <>
      {view.run !== undefined && isOpen && (
        <Button why={why} onClick={() => onAsk({ kind: 'say' })}>
          Send message…
        </Button>
      )}
      {!hasFailed && (
        <Button why={why ?? whyNotAgain(view)} onClick={() => onAsk({ kind: 'again' })}>
          Run again…
        </Button>
      )}
      {isOpen && (
        <Button look="danger" why={cannotCancel} onClick={() => onAsk({ kind: 'cancel' })}>
          Cancel…
        </Button>
      )}
      <CopyMenu view={view} />
      <TraceLink url={view.trace_url} />
    </>
  );
}

/** A request of several directives has no single thing to run again: each step has its own button. */
function whyNotAgain({ run, directives }: RequestView): string | null {
  return run !== undefined || directives.length === 1 ? null : 'Choose one of its steps to run that again.';
}

interface RequestDialogsProps {
  readonly view: RequestView;
  readonly asked: Act | null;
  readonly onClose: () => void;
}

export function RequestDialogs({ view, asked, onClose }: RequestDialogsProps) {
  const requestId = view.request_id;
  return (
    <>
      <SayDialog requestId={requestId} isOpen={asked?.kind === 'say'} onClose={onClose} />
      <CancelDialog view={view} isOpen={asked?.kind === 'cancel'} onClose={onClose} />
      {asked?.kind === 'resume' && <ResumeDialog view={view} onClose={onClose} />}
      {asked?.kind === 'again' && (
        <AgainDialog view={view} directiveId={asked.directiveId} onClose={onClose} />
      )}
      {asked?.kind === 'fork' && <ForkDialog view={view} at={asked.at} onClose={onClose} />}
    </>
  );
}

/** The address is the operator's; only one of the web is a link. */
function TraceLink({ url }: { url: string | undefined }) {
  if (url === undefined || !/^https?:\/\//.test(url)) return null;
  return (
    <a className="button button-plain request-trace" href={url} target="_blank" rel="noreferrer">
      Trace <Icon name="out" />
    </a>
  );
}

interface DirectiveBody {
  readonly directive: Readonly<Record<string, unknown>>;
}

function CopyMenu({ view }: { view: RequestView }) {
  const first = view.directives[0]?.id ?? '';
  const { data } = useRead<DirectiveBody>(path`/v1/requests/${view.request_id}/directives/${first}`, {
    enabled: view.run === undefined && first !== '',
  });
  const submission = submissionOf(view, data);
  const copies = submission === null ? [] : copiesOf(submission, location.origin);
  const items = copies.map(({ name, text }) => ({
    text: `as ${name}`,
    onChoose: () => void copy(text, name),
  }));
  const id = { text: 'its id', onChoose: () => void copy(view.request_id, 'id') };
  const link = { text: 'link to this view', onChoose: () => void copy(location.href, 'link') };
  return (
    <Menu trigger={<Button />} items={[...items, id, link]}>
      Copy <Icon name="down" />
    </Menu>
  );
}

/** Without its ids: what is pasted is another request. */
function submissionOf({ run }: RequestView, first: DirectiveBody | undefined): Submission | null {
  if (run !== undefined) return { path: '/v1/requests', body: { agent: run.agent, query: run.query } };
  if (first === undefined) return null;
  const { request_id: _request, id: _id, ...body } = first.directive;
  return { path: '/v1/directives', body };
}

interface DialogState {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function SayDialog({ requestId, isOpen, onClose }: DialogState & { requestId: string }) {
  const [text, type] = useState('');
  const [ids] = useState(() => new TextIds());
  const say = useChange(async (content: string) =>
    call('POST', path`/v1/requests/${requestId}/input`, {
      body: { input_id: ids.of(content), content, source: 'console' },
    }),
  );
  const send = (): void =>
    say.mutate(text, {
      onSuccess: () => {
        ids.taken();
        type('');
        onClose();
        toast('Sent: the run reads it before its next model call.');
      },
    });
  return (
    <AskDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Send a message to the run"
      focus="first"
      verb="Send"
      isOff={text.trim() === '' || say.isPending}
      onAct={send}
      error={say.error}
    >
      <TextAreaField
        label="Message"
        hint="The run reads it before its next model call."
        value={text}
        onChange={({ target }) => type(target.value)}
      />
    </AskDialog>
  );
}

function CancelDialog({ view, isOpen, onClose }: DialogState & { view: RequestView }) {
  const [reason, type] = useState('');
  const cancel = useChange(async () =>
    call('POST', path`/v1/requests/${view.request_id}/cancel`, { body: reason === '' ? {} : { reason } }),
  );
  const open = view.directives.filter(({ status }) => status !== 'succeeded' && status !== 'failed');
  const running = open.filter(({ status }) => status === 'running').length;
  const act = (): void => cancel.mutate(undefined, { onSuccess: onClose });
  return (
    <AskDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Cancel this request?"
      closeText="Keep open"
      verb="Cancel the request"
      look="danger"
      isOff={cancel.isPending}
      onAct={act}
      error={cancel.error}
    >
      <p>
        {open.length} open {open.length === 1 ? 'directive ends' : 'directives end'}
        {view.run === undefined ? '' : ', and so does the run'}. {running} of them{' '}
        {running === 1 ? 'runs' : 'run'} now: running work is cancelled on a best-effort basis, and may have
        had its effect.
      </p>
      <TextField label="Reason" optional value={reason} onChange={({ target }) => type(target.value)} />
    </AskDialog>
  );
}
