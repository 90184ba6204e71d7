/** The requests in the order of the service: a filter that is in the URL, a list that updates itself, and what is done with chosen ones.
 *  It must never act on more than what is chosen and counted. */
import { Link } from '@tanstack/react-router';
import { useMemo, useRef, useState } from 'react';
import type { RequestListing } from '../../../src/contract/request/request-listing.ts';
import type { RequestOrder } from '../../../src/contract/request/request-order.ts';
import { clockText, countText, durationText } from '../../data/shown.ts';
import { useUrlState } from '../../data/url-state.ts';
import { useKeys } from '../../keys/keymap.ts';
import { Banner, ReadError, IncompleteBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { FilterBar } from './filter-bar.tsx';
import { readFilter } from './filter-text.ts';
import { ColumnMenu, RangeMenu, useHiddenColumns, ViewMenu } from './list-menus.tsx';
import { RequestsGrid } from './requests-grid.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { type RequestList, useRequestList } from './use-request-list.ts';
import './requests.css';

const NOTHING: ReadonlySet<string> = new Set();

export function RequestsPage() {
  const [filter, setFilter] = useUrlState('filter');
  // `since:2h` means the two hours before the filter was set, and not before each drawing.
  const { query, faults } = useMemo(() => readFilter(filter, new Date()), [filter]);
  const [selected, select] = useChosen(filter);
  const [isAway, setAway] = useState(false);
  const [named, setSort] = useUrlState('sort');
  const order: RequestOrder = named === 'duration' || named === 'cost' ? named : 'created';
  const text = faults.length > 0 ? null : new URLSearchParams(query).toString();
  const list = useRequestList(text, order, isAway || selected.size > 0);
  const [hidden, toggle] = useHiddenColumns();
  const input = useRef<HTMLInputElement>(null);
  useKeys({
    '/': () => input.current?.focus(),
    Escape: () => select(NOTHING),
  });
  return (
    <Page title="Requests" isFull>
      <div className="requests">
        <FilterBar ref={input} filter={filter} onFilter={setFilter} counts={list.listing?.counts ?? null}>
          <RangeMenu filter={filter} onFilter={setFilter} />
          <ViewMenu filter={filter} onFilter={setFilter} />
          <ColumnMenu hidden={hidden} onToggle={toggle} />
          {list.listing !== null && <Lag listing={list.listing} order={order} />}
        </FilterBar>
        <Notes faults={faults} list={list} />
        <NewRows list={list} />
        {list.rows.length > 0 ? (
          <RequestsGrid
            key={`${filter} ${order}`}
            rows={list.rows}
            hidden={hidden}
            order={order}
            onOrder={(next) => setSort(next === 'created' ? '' : next)}
            selected={selected}
            onSelect={select}
            onMore={list.more}
            onAway={setAway}
            onSeen={list.see}
            ageOf={list.ageOf}
          />
        ) : (
          list.listing !== null && <NoRows filter={filter} list={list} onFilter={setFilter} />
        )}
        <SelectionBar rows={list.rows} selected={selected} onClear={() => select(NOTHING)} />
      </div>
    </Page>
  );
}

function Notes({ faults, list }: { faults: readonly string[]; list: RequestList }) {
  const { error, isCut, rows, listing } = list;
  return (
    <div className="requests-notes">
      {listing?.incomplete === true && <IncompleteBanner />}
      {isCut && (
        <Banner tone="wait">
          The newest {rows.length.toLocaleString('en-GB')} are here; a narrower filter, as{' '}
          <code>until:2d</code>, shows older ones.
        </Banner>
      )}
      {faults.map((fault) => (
        <Banner key={fault} tone="wait">
          {fault}
        </Banner>
      ))}
      {error !== null && <ReadError error={error} />}
    </div>
  );
}

/** Rows that were chosen in one list are not acted on from another. */
function useChosen(filter: string): readonly [ReadonlySet<string>, (ids: ReadonlySet<string>) => void] {
  const [chosen, choose] = useState({ filter, ids: NOTHING });
  const ids = chosen.filter === filter ? chosen.ids : NOTHING;
  return [ids, (next) => choose({ filter, ids: next })];
}

const ORDER_TEXTS: Readonly<Record<RequestOrder, string>> = {
  created: 'newest first',
  duration: 'longest first',
  cost: 'highest cost first',
};

/** The order, how far back it was compared, and the age of the index. */
function Lag({ listing, order }: { listing: RequestListing; order: RequestOrder }) {
  const { lag_ms: ms, searched_until: until } = listing;
  return (
    <span className="faint">
      {ORDER_TEXTS[order]}
      {order !== 'created' && until !== null && ` · compared back to ${clockText(until)}`}
      {ms > 1_000 && ` · index ${durationText(ms)} behind`}
    </span>
  );
}

function NewRows({ list: { held, hasGap, showNew } }: { list: RequestList }) {
  if (held === 0 && !hasGap) return null;
  const toTop = (): void => {
    document.querySelector('.requests-grid')?.scrollTo({ top: 0 });
    showNew();
  };
  return (
    <Button className="requests-new" onClick={toTop}>
      {hasGap ? 'Many' : countText(held)} new
    </Button>
  );
}

interface NoRowsProps {
  readonly filter: string;
  readonly list: RequestList;
  readonly onFilter: (filter: string) => void;
}

function NoRows({ filter, list: { listing, more }, onFilter }: NoRowsProps) {
  const until = listing?.searched_until ?? null;
  return (
    <div className="requests-notes">
      {filter === '' ? (
        <Empty title="No requests yet">
          Each submission and each run of an agent is one: <Link to="/agents">start a run</Link>, or{' '}
          <Link to="/tools">call a tool</Link>.
        </Empty>
      ) : (
        <Empty title={`No request matches ${filter}`}>
          {until !== null && (
            <p>
              Searched back to {clockText(until)}. <Button onClick={more}>Search further</Button>
            </p>
          )}
          <Button onClick={() => onFilter('')}>Show all requests</Button>
        </Empty>
      )}
    </div>
  );
}
