/** The list as a virtual grid: a hundred thousand rows scroll, the keys move, select and open.
 *  It must never lose the focus: it stays on the grid, and the active row stays mounted. */
import { useNavigate } from '@tanstack/react-router';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, useEffect, useRef, useState } from 'react';
import type { ListedRequest } from '../../../src/contract/request/request-listing.ts';
import type { RequestOrder } from '../../../src/contract/request/request-order.ts';
import { keyOf, placeOf } from '../../data/tenant.ts';
import { useKeys } from '../../keys/keymap.ts';
import { copy } from '../../parts/copy-button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { type ColumnName, COLUMNS } from './list-menus.tsx';
import { RequestRow } from './request-row.tsx';
import type { Seen } from './rows.ts';

const ROW_PX = 32;
const TOUCH_ROW_PX = 64;
/** Before the last row comes into sight. */
const READ_AHEAD = 30;

export interface RequestsGridProps {
  readonly rows: readonly ListedRequest[];
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: ReadonlySet<string>) => void;
  readonly onMore: () => void;
  /** Whether the list is scrolled down. */
  readonly onAway: (isAway: boolean) => void;
  /** Which rows are in sight. */
  readonly onSeen: (seen: Seen) => void;
  /** When a row was read that may have changed since, milliseconds; null: just now. */
  readonly ageOf: (row: ListedRequest) => number | null;
  readonly hidden: ReadonlySet<ColumnName>;
  readonly order: RequestOrder;
  readonly onOrder: (order: RequestOrder) => void;
}

const NOTHING: ReadonlySet<string> = new Set();
/** Heads of the columns that are always there. */
const FIRST_HEADS = ['', 'Status', 'Request'];
const FIRST_WIDTHS = '22px 104px 150px';

export function RequestsGrid(props: RequestsGridProps) {
  const { rows, selected, onSelect, onMore, onAway, ageOf } = props;
  const box = useRef<HTMLDivElement>(null);
  const [activeId, setActive] = useState<string | null>(null);
  const active = activeId === null ? -1 : rows.findIndex((row) => keyOf(row) === activeId);
  const isTouch = matchMedia('(max-width: 759px)').matches;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => (isTouch ? TOUCH_ROW_PX : ROW_PX),
    overscan: 12,
    getItemKey: (index) => keyAt(rows, index) ?? index,
    rangeExtractor: (range) => [
      ...new Set([...defaultRangeExtractor(range), ...(active < 0 ? [] : [active])]),
    ],
  });
  const items = virtual.getVirtualItems();
  useSight(virtual.range, props);
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - READ_AHEAD) onMore();
  }, [last, rows.length, onMore]);
  const move = (step: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, active + step));
    setActive(keyAt(rows, next));
    virtual.scrollToIndex(next);
    box.current?.focus({ preventScroll: true });
  };
  const select = useSelection(rows, selected, onSelect);
  useGridKeys({ row: rows[active], active, move, select });
  return (
    <div
      ref={box}
      className={['requests-grid', ...[...props.hidden].map((name) => `no-${name}`)].join(' ')}
      style={{ '--request-columns': widthsOf(props.hidden) } as CSSProperties}
      role="grid"
      tabIndex={0}
      aria-label="Requests"
      aria-rowcount={rows.length + 1}
      aria-multiselectable="true"
      {...(active < 0 ? {} : { 'aria-activedescendant': `request-${active}` })}
      onScroll={({ currentTarget }) => onAway(currentTarget.scrollTop > ROW_PX)}
    >
      <Heads {...props} />
      <div role="rowgroup" className="request-rows" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const key = keyOf(row);
          return (
            <RequestRow
              key={key}
              row={row}
              index={index}
              top={start}
              isActive={index === active}
              isSelected={selected.has(key)}
              readAt={ageOf(row)}
              onSelect={select}
            />
          );
        })}
      </div>
    </div>
  );
}

function keyAt(rows: readonly ListedRequest[], index: number): string | null {
  const row = rows[index];
  return row === undefined ? null : keyOf(row);
}

function useSight(
  range: { readonly startIndex: number; readonly endIndex: number } | null,
  { onSeen }: RequestsGridProps,
): void {
  const { startIndex: first = 0, endIndex: last = 0 } = range ?? {};
  useEffect(() => onSeen({ first, last }), [first, last, onSeen]);
}

/** The box above the boxes chooses all rows of the list, or none. */
function Heads({ rows, selected, onSelect, hidden, order, onOrder }: RequestsGridProps) {
  const isAll = selected.size >= rows.length;
  const choose = (): void => onSelect(isAll ? NOTHING : new Set(rows.map(keyOf)));
  return (
    <div role="row" aria-rowindex={1} className="request-row request-heads">
      {FIRST_HEADS.map((head) => (
        <span key={head} role="columnheader" className={head === '' ? 'request-check' : undefined}>
          {head !== '' ? (
            head
          ) : (
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label={isAll ? 'Choose none' : `Choose all ${rows.length}`}
              checked={isAll}
              onChange={choose}
            />
          )}
        </span>
      ))}
      {COLUMNS.filter(([name]) => !hidden.has(name)).map(([name, text]) => (
        <SortHead key={name} name={name} text={text} order={order} onOrder={onOrder} />
      ))}
    </div>
  );
}

interface SortHeadProps {
  readonly name: ColumnName;
  readonly text: string;
  readonly order: RequestOrder;
  readonly onOrder: (order: RequestOrder) => void;
}

const ORDERS = { what: null, asked: null, at: 'created', took: 'duration', cost: 'cost' } as const;

/** Time, duration and cost order the list, the highest first. */
function SortHead({ name, text, order, onOrder }: SortHeadProps) {
  const own = ORDERS[name];
  if (own === null) return <span role="columnheader">{text}</span>;
  const isOn = order === own;
  return (
    <span role="columnheader" className="num" aria-sort={isOn ? 'descending' : 'none'}>
      <button type="button" tabIndex={-1} className="request-sort" onClick={() => onOrder(own)}>
        {text}
        {isOn && <Icon name="down" />}
      </button>
    </span>
  );
}

function widthsOf(hidden: ReadonlySet<ColumnName>): string {
  const others = COLUMNS.filter(([name]) => !hidden.has(name)).map(([, , width]) => width);
  return `${FIRST_WIDTHS} ${others.join(' ')}`;
}

type Select = (index: number, isRange: boolean) => void;

/** A range goes from the row that was chosen before. The same function all the time: rows depend on it. */
function useSelection(
  rows: readonly ListedRequest[],
  selected: ReadonlySet<string>,
  onSelect: (ids: ReadonlySet<string>) => void,
): Select {
  const held = useRef({ rows, selected, onSelect, from: -1 });
  useEffect(() => {
    Object.assign(held.current, { rows, selected, onSelect });
  });
  const [select] = useState<Select>(() => (index: number, isRange: boolean) => {
    const { rows: all, selected: old, onSelect: tell, from } = held.current;
    const chosen = new Set(old);
    const isFrom = isRange && from >= 0;
    const ids = all
      .slice(Math.min(index, isFrom ? from : index), Math.max(index, isFrom ? from : index) + 1)
      .map(keyOf);
    const isOff = !isFrom && ids.every((id) => chosen.has(id));
    for (const id of ids)
      if (isOff) chosen.delete(id);
      else chosen.add(id);
    held.current.from = index;
    tell(chosen);
  });
  return select;
}

interface GridKeys {
  readonly row: ListedRequest | undefined;
  readonly active: number;
  readonly move: (step: number) => void;
  readonly select: Select;
}

function useGridKeys({ row, active, move, select }: GridKeys): void {
  const navigate = useNavigate();
  const id = row?.request_id;
  const open = (): void => {
    if (row !== undefined) void navigate(placeOf(row));
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: open,
    x: () => active >= 0 && select(active, false),
    'Shift+x': () => active >= 0 && select(active, true),
    c: () => id !== undefined && void copy(id, 'id of the request'),
  });
}
