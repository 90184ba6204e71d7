/** Dead letters: how many of each lane and type, when they came, each of them, and the way to redrive them.
 *  It must never redrive anything that was not shown first. */
import { useState } from 'react';
import type {
  DeadLetter,
  DeadLetterGroups,
  DeadLetterPage,
} from '../../../src/contract/directive/dead-letter.ts';
import { useRead } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { Select } from '../../parts/select.tsx';
import { GroupTable } from './group-table.tsx';
import { SPANS, sinceOf } from './hours.ts';
import { LetterTable, letterKey } from './letter-table.tsx';
import { filterOf, type LettersFilter, lettersPath, MOST_LETTERS, ORDERS } from './letters-query.ts';
import { RedriveDialog, type RedriveScope } from './redrive-dialog.tsx';
import './dead-letters.css';

const EVERY_MS = 5_000;
const PAGE = 50;

export function DeadLettersPage() {
  const groups = useRead<DeadLetterGroups>('/v1/dead-letters/groups', { everyMs: EVERY_MS });
  const [hours, setHours] = useUrlState('hours');
  const [order, setOrder] = useUrlState('order');
  const filter = useFilter(hours);
  const choices = (
    <>
      <Select label="Order" value={order} options={ORDERS} onChange={setOrder} />
      <Select label="When they came" value={hours} options={SPANS} onChange={setHours} />
    </>
  );
  return (
    <Page title="Dead letters" isPlace actions={choices}>
      {groups.error !== null && <ReadError error={groups.error} onRetry={() => void groups.refetch()} />}
      {groups.data?.total === 0 && (
        <Empty title="There are no dead letters." command="npx adjutant dead">
          A directive that ends in an error would be here, until it is redriven or forgotten.
        </Empty>
      )}
      {groups.data !== undefined && groups.data.total > 0 && <GroupTable groups={groups.data} />}
      {groups.data !== undefined && groups.data.total > 0 && (
        <Letters
          key={JSON.stringify([filter.lane, filter.errorType, hours, order])}
          filter={filter}
          order={order}
        />
      )}
    </Page>
  );
}

function useFilter(hours: string): LettersFilter {
  const [group] = useUrlState('group');
  return filterOf(group, sinceOf(hours, Date.now()));
}

type Chosen = ReadonlySet<string>;

function Letters({ filter, order }: { filter: LettersFilter; order: string }) {
  const [limit, setLimit] = useState(PAGE);
  const [chosen, choose] = useState<Chosen>(new Set());
  const [scope, setScope] = useState<RedriveScope | null>(null);
  const { data, error, refetch } = useRead<DeadLetterPage>(lettersPath(filter, limit, order), {
    everyMs: EVERY_MS,
  });
  const letters = data?.dead_letters ?? [];
  const picked = letters.filter((letter) => chosen.has(letterKey(letter)));
  return (
    <section className="stack" aria-label="Dead letters, one by one">
      <Actions filter={filter} picked={picked} hasAny={letters.length > 0} onRedrive={setScope} />
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      {data !== undefined && letters.length === 0 && <Empty title="No dead letter matches the filter." />}
      {letters.length > 0 && <LetterTable letters={letters} chosen={chosen} onChoose={choose} />}
      {typeof data?.next === 'string' && limit < MOST_LETTERS && (
        <div>
          <Button onClick={() => setLimit(Math.min(MOST_LETTERS, limit * 2))}>Show more</Button>
        </div>
      )}
      {scope !== null && (
        <RedriveDialog
          scope={scope}
          onClose={() => {
            setScope(null);
            choose(new Set());
          }}
        />
      )}
    </section>
  );
}

interface ActionsProps {
  readonly filter: LettersFilter;
  readonly picked: readonly DeadLetter[];
  readonly hasAny: boolean;
  readonly onRedrive: (scope: RedriveScope) => void;
}

function Actions({ filter, picked, hasAny, onRedrive }: ActionsProps) {
  const why = useWhyNot('redrive');
  return (
    <div className="row dead-actions">
      <h2>One by one</h2>
      {why === null && (
        <span className="row spread">
          <Button
            why={picked.length === 0 ? 'Nothing is selected.' : null}
            onClick={() => onRedrive({ letters: picked })}
          >
            Redrive {picked.length === 0 ? '' : picked.length} selected…
          </Button>
          <Button why={hasAny ? null : 'There is none.'} onClick={() => onRedrive({ filter })}>
            Redrive all of these…
          </Button>
        </span>
      )}
      {why !== null && <span className="muted">{why}</span>}
    </div>
  );
}
