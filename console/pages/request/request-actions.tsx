/** What can be done with the whole request: say something, cancel, copy, open the trace.
 *  It must never repeat an action by itself. */
import { useState } from 'react';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import { call, path } from '../../data/api.ts';
import { TextIds } from '../../data/new-id.ts';
import { useChange, useRead } from '../../data/queries.ts';
import { useMissingScope } from '../../data/session.ts';
import { useKeys } from '../../keys/keymap.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { copy } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { toast } from '../../parts/toast.ts';
import { copiesOf, type Submission } from './copies.ts';

export function RequestActions({ view }: { view: RequestView }) {
  const [shown, show] = useState<'say' | 'resume' | 'cancel' | null>(null);
  const cannotSay = useMissingScope('submit');
  const cannotCancel = useMissingScope('cancel');
  const isOpen = view.status === 'open';
  const close = (): void => show(null);
  useKeys({ c: () => void copy(location.href, 'link') });
  return (
    <>
      {view.run !== undefined && isOpen && (
        <Button why={cannotSay && `needs the scope ${cannotSay}`} onClick={() => show('say')}>
          Say…
        </Button>
      )}
      {isResumable(view) && (
        <Button why={cannotSay && `needs the scope ${cannotSay}`} onClick={() => show('resume')}>
          Resume…
        </Button>
      )}
      {isOpen && (
        <Button
          look="danger"
          why={cannotCancel && `needs the scope ${cannotCancel}`}
          onClick={() => show('cancel')}
        >
          Cancel…
        </Button>
      )}
      <CopyMenu view={view} />
      <TraceLink url={view.trace_url} />
      <SayDialog requestId={view.request_id} isOpen={shown === 'say'} onClose={close} />
      <ResumeDialog requestId={view.request_id} isOpen={shown === 'resume'} onClose={close} />
      <CancelDialog view={view} isOpen={shown === 'cancel'} onClose={close} />
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
        toast('The run reads it before its next step.');
      },
    });
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Say something to the run"
      focus="first"
      actions={
        <Button look="primary" disabled={text.trim() === '' || say.isPending} onClick={send}>
          Send
        </Button>
      }
    >
      {say.error !== null && <ErrorBanner error={say.error} />}
      <TextAreaField
        label="Text"
        hint="The run reads it before its next model call."
        value={text}
        onChange={({ target }) => type(target.value)}
      />
    </Dialog>
  );
}

/** A run that never began has nothing to go on from. */
function isResumable({ run }: RequestView): boolean {
  const hasFailed = run?.status === 'failed' || run?.status === 'cancelled' || run?.status === 'timeout';
  return hasFailed && run.started_at !== null;
}

function ResumeDialog({ requestId, isOpen, onClose }: DialogState & { requestId: string }) {
  const [text, type] = useState('');
  const resume = useChange(async () =>
    call('POST', path`/v1/requests/${requestId}/resume`, { body: text.trim() === '' ? {} : { input: text } }),
  );
  const act = (): void =>
    resume.mutate(undefined, {
      onSuccess: () => {
        type('');
        onClose();
        toast('The run goes on.');
      },
    });
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Resume the run?"
      focus="first"
      actions={
        <Button look="primary" disabled={resume.isPending} onClick={act}>
          Resume
        </Button>
      }
    >
      <p>
        The failed step is made again; calls that have succeeded are not. A failed model call is paid again.
      </p>
      {resume.error !== null && <ErrorBanner error={resume.error} />}
      <TextAreaField
        label="Message"
        optional
        hint="The run reads it before its next model call."
        value={text}
        onChange={({ target }) => type(target.value)}
      />
    </Dialog>
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
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Cancel this request?"
      closeText="Keep it"
      actions={
        <Button look="danger" disabled={cancel.isPending} onClick={act}>
          Cancel the request
        </Button>
      }
    >
      <p>
        {open.length} open {open.length === 1 ? 'directive ends' : 'directives end'}
        {view.run === undefined ? '' : ', and so does the run'}. {running} of them{' '}
        {running === 1 ? 'runs' : 'run'} now: running work is cancelled on a best-effort basis, and may have
        had its effect.
      </p>
      {cancel.error !== null && <ErrorBanner error={cancel.error} />}
      <TextField label="Reason" optional value={reason} onChange={({ target }) => type(target.value)} />
    </Dialog>
  );
}
