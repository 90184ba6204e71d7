/** Creates a schedule, or replaces the content of one. Never overwrites a change that was made since the content was read. */
import { useState } from 'react';
import { OVERLAP_WORDS } from './schedule-words.ts';
import type { ScheduleView } from '../../../src/contract/schedule/schedule.ts';
import { call, path } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { AgentSelect } from '../../parts/agent-select.tsx';
import { AskDialog } from '../../parts/dialog.tsx';
import { TextAreaField, TextField } from '../../parts/field.tsx';
import { Select } from '../../parts/select.tsx';
import { toast } from '../../parts/toast.ts';
import { type ContentTexts, contentOf, NEW_CONTENT, readContent } from './schedule-content.ts';

export interface ScheduleFormProps {
  /** null: a new one. */
  readonly schedule: ScheduleView | null;
  readonly onClose: () => void;
  readonly onSaved: (id: string) => void;
}

export function ScheduleForm({ schedule, onClose, onSaved }: ScheduleFormProps) {
  const [texts, setTexts] = useState<ContentTexts>(() =>
    schedule === null ? NEW_CONTENT : contentOf(schedule),
  );
  const [fault, setFault] = useState<Error | null>(null);
  const save = useChange(async (body: object) =>
    schedule === null
      ? call<ScheduleView>('POST', '/v1/schedules', { body })
      : call<ScheduleView>('PUT', path`/v1/schedules/${schedule.id}`, { body }),
  );
  const write = (changed: Partial<ContentTexts>): void => setTexts({ ...texts, ...changed });
  const act = (): void => {
    const read = readContent(texts);
    setFault('fault' in read ? new Error(read.fault) : null);
    if ('fault' in read) return;
    const named = schedule === null ? { id: texts.id.trim() } : { version: schedule.version };
    save.mutate(
      { ...named, ...read.body },
      {
        onSuccess: ({ id }) => {
          toast(schedule === null ? 'Created.' : 'Changed.');
          onSaved(id);
        },
      },
    );
  };
  const error = fault ?? save.error;
  return (
    <AskDialog
      onClose={onClose}
      title={schedule === null ? 'New schedule' : `Edit ${schedule.id}`}
      focus="first"
      verb={schedule === null ? 'Create' : 'Save'}
      isOff={save.isPending || texts.id.trim() === ''}
      onAct={act}
      error={error}
    >
      {schedule === null && (
        <TextField
          label="Id"
          hint="Letters, digits, . _ : -"
          spellCheck={false}
          maxLength={64}
          value={texts.id}
          onChange={({ target }) => write({ id: target.value })}
        />
      )}
      <When texts={texts} onWrite={write} />
      <What texts={texts} onWrite={write} />
      <Further texts={texts} onWrite={write} />
    </AskDialog>
  );
}

interface PartProps {
  readonly texts: ContentTexts;
  readonly onWrite: (changed: Partial<ContentTexts>) => void;
}

function When({ texts: { when, cron, zone, every }, onWrite }: PartProps) {
  return (
    <>
      <div className="row">
        Fires{' '}
        <Select
          label="Kind of the timing"
          value={when}
          options={[
            ['cron', 'at the times of a cron expression'],
            ['every', 'at an interval'],
          ]}
          onChange={(next) => onWrite({ when: next as ContentTexts['when'] })}
        />
      </div>
      {when === 'cron' ? (
        <div className="fields-row">
          <TextField
            label="Cron expression"
            hint="minute hour day month weekday"
            spellCheck={false}
            value={cron}
            onChange={({ target }) => onWrite({ cron: target.value })}
          />
          <TextField
            label="Time zone"
            optional
            hint="As Europe/Berlin. Default: UTC."
            spellCheck={false}
            value={zone}
            onChange={({ target }) => onWrite({ zone: target.value })}
          />
        </div>
      ) : (
        <TextField
          label="Interval"
          hint="90s, 15m, 6h or 1d"
          value={every}
          onChange={({ target }) => onWrite({ every: target.value })}
        />
      )}
    </>
  );
}

function What({ texts: { what, agent, query, template }, onWrite }: PartProps) {
  return (
    <>
      <div className="row">
        Submits{' '}
        <Select
          label="Kind of the content"
          value={what}
          options={[
            ['run', 'a run of an agent'],
            ['json', 'JSON: directives, or a run with more'],
          ]}
          onChange={(next) => onWrite({ what: next as ContentTexts['what'] })}
        />
        {what === 'run' && <AgentSelect agent={agent} onAgent={(next) => onWrite({ agent: next })} />}
      </div>
      {what === 'run' ? (
        <TextAreaField
          label="Task"
          value={query}
          onChange={({ target }) => onWrite({ query: target.value })}
        />
      ) : (
        <TextAreaField
          label="Content"
          hint='{"directives": [...]} or {"run": {...}}, as the API takes them, without a request_id.'
          rows={8}
          spellCheck={false}
          value={template}
          onChange={({ target }) => onWrite({ template: target.value })}
        />
      )}
    </>
  );
}

function Further({ texts, onWrite }: PartProps) {
  const field = (name: 'jitter' | 'catchUp' | 'starts' | 'ends') => ({
    optional: true,
    spellCheck: false,
    value: texts[name],
    onChange: ({ target }: { target: { value: string } }) => onWrite({ [name]: target.value }),
  });
  return (
    <>
      <div className="row">
        While a request is open{' '}
        <Select
          label="Overlap"
          value={texts.overlap}
          options={Object.entries(OVERLAP_WORDS)}
          onChange={(overlap) => onWrite({ overlap })}
        />
      </div>
      <details>
        <summary>Jitter, outages, beginning and end</summary>
        <div className="fields-row">
          <TextField label="Jitter" hint="Up to 1h" {...field('jitter')} />
          <TextField label="Catches up" hint="After an outage, up to this delay" {...field('catchUp')} />
          <TextField label="Not before" hint="2026-12-01T00:00:00Z" {...field('starts')} />
          <TextField label="Not after" hint="2026-12-31T00:00:00Z" {...field('ends')} />
        </div>
      </details>
    </>
  );
}
