/** Asks before a schedule is triggered, paused, resumed or deleted: what that does, and what it leaves alone.
 *  Never triggers twice for one press, nor repeats by itself. */
import { useState } from 'react';
import type { Firing } from '../../../src/contract/schedule/schedule.ts';
import { call, path } from '../../data/api.ts';
import { newId } from '../../data/new-id.ts';
import { useChange } from '../../data/queries.ts';
import { AskDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { toast } from '../../parts/toast.ts';

export type ScheduleAct = 'trigger' | 'pause' | 'resume' | 'delete';

const WORDS: Readonly<Record<ScheduleAct, { verb: string; done: string; effect: string }>> = {
  trigger: {
    verb: 'Trigger',
    done: 'Triggered: its request is under the last instants.',
    effect: 'What it submits is submitted now, whatever is under way, also while it is paused.',
  },
  pause: {
    verb: 'Pause',
    done: 'Paused.',
    effect:
      'Nothing is fired until it is resumed; instants of the pause are not fired later. What it has fired goes on.',
  },
  resume: {
    verb: 'Resume',
    done: 'Resumed.',
    effect: 'It fires again from the next instant on, and from here on with your key.',
  },
  delete: {
    verb: 'Delete',
    done: 'Deleted.',
    effect: 'It fires no more, and its history is gone. The requests that it has submitted go on.',
  },
};

const LONGEST_NOTE = 256;

export interface ScheduleDialogProps {
  readonly id: string;
  readonly act: ScheduleAct;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

export function ScheduleDialog({ id, act, onClose, onDeleted }: ScheduleDialogProps) {
  const [note, type] = useState('');
  // A repeat after a lost answer is the same firing.
  const [key] = useState(newId);
  const change = useChange(async () =>
    act === 'delete'
      ? call<null>('DELETE', path`/v1/schedules/${id}`)
      : call<Firing>('POST', `${path`/v1/schedules/${id}`}/${act}`, bodyOf(act, { note: note.trim(), key })),
  );
  const { verb, done, effect } = WORDS[act];
  const send = (): void =>
    change.mutate(undefined, {
      onSuccess: () => {
        onClose();
        if (act === 'delete') onDeleted();
        toast(done);
      },
    });
  return (
    <AskDialog
      onClose={onClose}
      title={`${verb} ${id}?`}
      closeText="Cancel"
      verb={verb}
      look={act === 'delete' ? 'danger' : 'primary'}
      isOff={change.isPending}
      onAct={send}
      error={change.error}
    >
      <p>{effect}</p>
      {act === 'pause' && (
        <TextField
          label="Note"
          optional
          hint="Others see it in the list."
          value={note}
          maxLength={LONGEST_NOTE}
          onChange={({ target }) => type(target.value)}
        />
      )}
    </AskDialog>
  );
}

function bodyOf(act: ScheduleAct, { note, key }: { note: string; key: string }) {
  if (act === 'trigger') return { body: { key } };
  return act === 'pause' ? { body: note === '' ? {} : { note } } : {};
}
