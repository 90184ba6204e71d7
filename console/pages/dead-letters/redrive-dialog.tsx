/** Redriving: what would be done, what it may repeat, and what became of it.
 *  It must never redrive more than it has shown, nor by Enter alone. */
import { useState } from 'react';
import type { DeadLetter, DeadLetterPage, Redrive } from '../../../src/contract/directive/dead-letter.ts';
import type { ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import { call } from '../../data/api.ts';
import { effectsOf } from '../../data/effect-words.ts';
import { useChange, useRead } from '../../data/queries.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { letterKey } from './letter-table.tsx';
import { type LettersFilter, lettersPath, MOST_LETTERS } from './letters-query.ts';
import { RedriveDone } from './redrive-done.tsx';
import { planOf } from './redrive-plan.ts';
import { PlanView } from './plan-view.tsx';

/** Those that were selected, or all that fit a filter. */
export type RedriveScope = { readonly letters: readonly DeadLetter[] } | { readonly filter: LettersFilter };

export function RedriveDialog({ scope, onClose }: { scope: RedriveScope; onClose: () => void }) {
  const { letters, more, error } = useLetters(scope);
  const tools = useRead<ToolListing>('/v1/tools?remembered=true');
  const [isSure, setSure] = useState(false);
  const redrive = useChange((given: readonly DeadLetter[]) =>
    call<Redrive>('POST', '/v1/dead-letters/redrive', {
      body: { directives: given.map(({ request_id, id }) => ({ request_id, id })) },
    }),
  );
  const plan = letters && tools.data && planOf(letters, effectsOf(tools.data.tools));
  const blocked = plan !== undefined && plan.repeats > 0 && !isSure;
  const act = letters !== undefined && redrive.data === undefined && (
    <Button
      look={blocked || plan?.repeats === 0 ? 'primary' : 'danger'}
      why={blocked ? 'Confirm first that you have checked.' : null}
      disabled={redrive.isPending || plan === undefined || plan.count === 0}
      onClick={() => redrive.mutate(letters)}
    >
      Redrive {letters.length}
    </Button>
  );
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Redrive dead letters"
      closeText={redrive.data === undefined ? 'Cancel' : 'Close'}
      actions={act}
    >
      {error !== null && <ErrorBanner error={error} />}
      {redrive.error !== null && <ErrorBanner error={redrive.error} />}
      {redrive.data !== undefined && <RedriveDone redrive={redrive.data} />}
      {redrive.data === undefined && plan !== undefined && (
        <PlanView plan={plan} more={more} isSure={isSure} onSure={setSure} />
      )}
    </Dialog>
  );
}

interface FoundLetters {
  /** undefined: not read yet. */
  readonly letters: readonly DeadLetter[] | undefined;
  /** There are more than one redrive takes. */
  readonly more: boolean;
  readonly error: Error | null;
}

/** The letters of the plan are those that are redriven: they are read once, and named. */
function useLetters(scope: RedriveScope): FoundLetters {
  const isRead = 'filter' in scope;
  const [place] = useState(() => (isRead ? lettersPath(scope.filter, MOST_LETTERS, 'oldest') : ''));
  const [held, hold] = useState<DeadLetterPage | null>(null);
  const read = useRead<DeadLetterPage>(place, { enabled: isRead && held === null, keepOld: false });
  if (!isRead) return { letters: uniqueLetters(scope.letters), more: false, error: null };
  if (held === null && read.data !== undefined) hold(read.data);
  return { letters: held?.dead_letters, more: typeof held?.next === 'string', error: read.error };
}

function uniqueLetters(letters: readonly DeadLetter[]): readonly DeadLetter[] {
  return [...new Map(letters.map((letter) => [letterKey(letter), letter])).values()];
}
