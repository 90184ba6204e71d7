/** Actions on the chosen requests: cancel or redrive, both shown before they are done, and compare two of them.
 *  Never cancels or redrives without a second, named choice. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ListedRequest } from '../../../src/contract/request/request-listing.ts';
import { useWhyNot } from '../../data/session.ts';
import { Button } from '../../parts/button.tsx';
import { BulkDialog } from './bulk-dialog.tsx';
import { MOST_CHOSEN } from './bulk.ts';
import { chosenOf } from './rows.ts';

export interface SelectionBarProps {
  readonly rows: readonly ListedRequest[];
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

export function SelectionBar({ rows, selected, onClear }: SelectionBarProps) {
  const [act, setAct] = useState<'cancel' | 'redrive' | null>(null);
  const refusals = { cancel: useWhyNot('cancel'), redrive: useWhyNot('redrive') };
  if (selected.size === 0) return null;
  const { chosen, words } = chosenOf(rows, selected);
  const whyNot = (scope: 'cancel' | 'redrive'): string | null => {
    if (refusals[scope] !== null) return refusals[scope];
    if (chosen.length > MOST_CHOSEN) return `At most ${MOST_CHOSEN} at once here.`;
    return null;
  };
  const isOpen = chosen.some(({ status }) => status === 'open' || status === 'waiting');
  const hasFailed = chosen.some(({ error_types: types }) => types.length > 0);
  return (
    <section className="requests-selection" aria-label="Chosen requests">
      <strong>{words}</strong>
      <Button
        look="danger"
        why={whyNot('cancel') ?? (isOpen ? null : 'All of them have ended.')}
        onClick={() => setAct('cancel')}
      >
        Cancel…
      </Button>
      <Button
        why={whyNot('redrive') ?? (hasFailed ? null : 'None of them has an error.')}
        onClick={() => setAct('redrive')}
      >
        Redrive…
      </Button>
      {chosen.length === 2 && chosen[0]?.tenant === chosen[1]?.tenant && (
        <Link
          className="button button-plain"
          to="/compare"
          search={{ a: chosen[1]?.request_id, b: chosen[0]?.request_id, of: chosen[0]?.tenant } as never}
        >
          Compare
        </Link>
      )}
      <Button look="ghost" className="spread" onClick={onClear}>
        Clear
      </Button>
      {act !== null && (
        <BulkDialog
          act={act}
          ids={chosen.map(({ request_id: id }) => id)}
          onClose={() => setAct(null)}
          onDone={() => {
            setAct(null);
            onClear();
          }}
        />
      )}
    </section>
  );
}
