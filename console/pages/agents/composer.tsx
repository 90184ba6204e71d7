/** The text that a person writes to an agent: it starts a run, with changes to the agent where some are typed, or goes to the run in
 *  progress. Never sends the same text as two: a repeat after a lost answer has the same id. */
import { type KeyboardEvent, type SubmitEvent, useId, useState } from 'react';
import { useDraft } from '../../data/draft.ts';
import { useWhyNot } from '../../data/session.ts';
import { modelOf, namesOf } from '../../data/change-texts.ts';
import { readObject } from '../../data/typed-json.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { type StartOptions, type Talk, useSend } from './use-send.ts';

export interface ComposerProps {
  readonly agent: string;
  /** null: a new conversation. */
  readonly talk: Talk | null;
  readonly onStarted: (requestId: string) => void;
}

export function Composer({ agent, talk, onStarted }: ComposerProps) {
  const [text, type] = useDraft(`${agent}/${talk?.requestId ?? ''}`);
  const id = useId();
  const why = useWhyNot('submit');
  const sending = useSend(agent, talk, { onStarted, onSent: () => type('') });
  const [texts, write] = useState<OptionTexts>(NO_OPTIONS);
  const read = readOptions(texts);
  const fault = 'fault' in read ? read.fault : null;
  const send = (event?: SubmitEvent): void => {
    event?.preventDefault();
    if (text.trim() === '' || sending.isPending || why !== null || 'fault' in read) return;
    sending.send(text, talk === null ? read.options : {});
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    send();
  };
  if (why !== null && text === '') return <p className="agents-composer muted">{why}</p>;
  return (
    <form className="agents-composer" onSubmit={send}>
      {sending.error !== null && <ErrorBanner error={sending.error} onRetry={() => send()} />}
      <label htmlFor={id}>{labelOf(talk)}</label>
      <textarea
        id={id}
        className="input"
        value={text}
        onChange={(event) => type(event.target.value)}
        onKeyDown={press}
      />
      {talk === null && <Options texts={texts} fault={fault} onWrite={write} />}
      <div className="row">
        <Button
          type="submit"
          look="primary"
          why={why}
          disabled={sending.isPending || text.trim() === '' || (talk === null && fault !== null)}
        >
          {talk === null ? 'Start a run' : 'Send'}
        </Button>
        <span className="faint">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> {talk?.isRunning === true && '· read before its next model call'}
        </span>
      </div>
    </form>
  );
}

interface OptionTexts {
  readonly conversation: string;
  readonly tags: string;
  readonly model: string;
  readonly tools: string;
  readonly overrides: string;
}

const NO_OPTIONS: OptionTexts = { conversation: '', tags: '', model: '', tools: '', overrides: '' };

type ReadOptions = { readonly options: StartOptions } | { readonly fault: string };

function readOptions({ conversation, tags, model, tools, overrides }: OptionTexts): ReadOptions {
  const further = overrides.trim() === '' ? { value: {} } : readObject(overrides);
  if ('fault' in further) return further;
  const allowed = namesOf(tools);
  const changes = {
    ...further.value,
    ...modelOf(model),
    ...(allowed.length === 0 ? {} : { allowed_tools: allowed }),
  };
  const tagged = namesOf(tags);
  return {
    options: {
      ...(conversation.trim() === '' ? {} : { conversation_id: conversation.trim() }),
      ...(Object.keys(changes).length === 0 ? {} : { overrides: changes }),
      ...(tagged.length === 0 ? {} : { metadata: { tags: tagged } }),
    },
  };
}

interface OptionsProps {
  readonly texts: OptionTexts;
  /** Fault of the overrides; null: none. */
  readonly fault: string | null;
  readonly onWrite: (texts: OptionTexts) => void;
}

function Options({ texts, fault, onWrite }: OptionsProps) {
  const field = (name: keyof OptionTexts) => ({
    optional: true,
    spellCheck: false,
    value: texts[name],
    onChange: ({ target }: { target: { value: string } }) => onWrite({ ...texts, [name]: target.value }),
  });
  return (
    <details>
      <summary>Model, tools, tags, conversation</summary>
      <div className="fields-row">
        <TextField label="Model" hint="provider:model, or an alias" {...field('model')} />
        <TextField label="Tools" hint="Only these of the agent's tools" {...field('tools')} />
        <TextField label="Tags" hint="Separated by commas" {...field('tags')} />
        <TextField label="Conversation" hint="Id of one to continue" {...field('conversation')} />
      </div>
      <TextAreaField
        label="Overrides"
        hint='Further changes to the agent, as {"temperature": 0}.'
        error={fault}
        {...field('overrides')}
      />
    </details>
  );
}

function labelOf(talk: Talk | null): string {
  if (talk === null) return 'Task';
  return talk.isRunning ? 'Message to the run' : 'Next message of this conversation';
}
