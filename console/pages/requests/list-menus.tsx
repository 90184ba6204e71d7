/** The menus above the list: a range of time, saved views, and the columns. Views and columns are kept in this browser. */
import { useState } from 'react';
import { useStored } from '../../data/stored.ts';
import { Button } from '../../parts/button.tsx';
import { AskDialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { replaced, valueIn } from './filter-text.ts';

interface FilterProps {
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}

const RANGES = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['1d', 'Last day'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

export function RangeMenu({ filter, onFilter }: FilterProps) {
  const [isPicking, pick] = useState(false);
  const since = valueIn(filter, 'since');
  const until = valueIn(filter, 'until');
  const items = RANGES.map(([value, text]) => ({
    text: value === since && until === '' ? `${text} ✓` : text,
    onChoose: () => onFilter(replaced(replaced(filter, 'until', ''), 'since', value)),
  }));
  const shown = RANGES.find(([value]) => value === since && until === '')?.[1] ?? 'Chosen times';
  return (
    <>
      <Menu trigger={<Button />} items={[...items, { text: 'From … until …', onChoose: () => pick(true) }]}>
        {shown} <Icon name="down" />
      </Menu>
      {isPicking && (
        <RangeDialog
          first={[localOf(since), localOf(until)]}
          onClose={() => pick(false)}
          onChoose={(from, to) => {
            onFilter(replaced(replaced(filter, 'since', instantOf(from)), 'until', instantOf(to)));
            pick(false);
          }}
        />
      )}
    </>
  );
}

interface RangeProps {
  readonly first: readonly [from: string, to: string];
  readonly onClose: () => void;
  readonly onChoose: (from: string, to: string) => void;
}

function RangeDialog({ first, onClose, onChoose }: RangeProps) {
  const [[from, to], type] = useState(first);
  return (
    <AskDialog
      onClose={onClose}
      title="Range of time"
      focus="first"
      verb="Show"
      isOff={from === '' && to === ''}
      onAct={() => onChoose(from, to)}
    >
      <TextField
        label="From"
        optional
        type="datetime-local"
        hint="In the time zone of this browser."
        value={from}
        onChange={({ target }) => type([target.value, to])}
      />
      <TextField
        label="Until"
        optional
        type="datetime-local"
        value={to}
        onChange={({ target }) => type([from, target.value])}
      />
    </AskDialog>
  );
}

/** The instant of a local time, to the minute; '' stays ''. */
function instantOf(local: string): string {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? '' : `${at.toISOString().slice(0, 16)}Z`;
}

/** The local time of an instant, as an input takes it; '' where the text is none. */
function localOf(text: string): string {
  const at = new Date(/^\d{4}-/.test(text) ? text : Number.NaN);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

interface View {
  readonly name: string;
  readonly filter: string;
}

const MOST_VIEWS = 20;

/** Views that this browser keeps; what is damaged is left out. */
function viewsIn(stored: string): readonly View[] {
  try {
    const views: unknown = JSON.parse(stored === '' ? '[]' : stored);
    if (!Array.isArray(views)) return [];
    const isView = (view: unknown): view is View =>
      typeof view === 'object' && view !== null && 'name' in view && 'filter' in view;
    return views.filter(isView).map(({ name, filter }) => ({ name: String(name), filter: String(filter) }));
  } catch {
    return [];
  }
}

export function ViewMenu({ filter, onFilter }: FilterProps) {
  const [stored, store] = useStored('views');
  const [isNaming, setNaming] = useState(false);
  const views = viewsIn(stored);
  const keep = (next: readonly View[]): void => store(JSON.stringify(next.slice(-MOST_VIEWS)));
  const shown = views.find((view) => view.filter === filter);
  const items = [
    ...views.map((view) => ({
      text: view === shown ? `${view.name} ✓` : view.name,
      onChoose: () => onFilter(view.filter),
    })),
    {
      text: 'Save this view…',
      onChoose: () => setNaming(true),
      why: filter === '' ? 'There is no filter to save.' : null,
    },
    ...(shown === undefined
      ? []
      : [
          {
            text: `Remove ${shown.name}`,
            isDanger: true,
            onChoose: () => keep(views.filter((view) => view !== shown)),
          },
        ]),
  ];
  return (
    <>
      <Menu trigger={<Button />} items={items}>
        Views <Icon name="down" />
      </Menu>
      {isNaming && (
        <NameDialog
          onClose={() => setNaming(false)}
          onName={(name) => {
            keep([...views.filter((view) => view.name !== name), { name, filter }]);
            setNaming(false);
          }}
        />
      )}
    </>
  );
}

const LONGEST_NAME = 40;

function NameDialog({ onClose, onName }: { onClose: () => void; onName: (name: string) => void }) {
  const [name, type] = useState('');
  return (
    <AskDialog
      onClose={onClose}
      title="Save this view"
      focus="first"
      verb="Save"
      isOff={name.trim() === ''}
      onAct={() => onName(name.trim())}
    >
      <TextField
        label="Name"
        hint="This browser keeps the filter under it."
        maxLength={LONGEST_NAME}
        value={name}
        onChange={({ target }) => type(target.value)}
      />
    </AskDialog>
  );
}

/** Columns that can be left out, with the widths of all in their order. */
export const COLUMNS = [
  ['what', 'Agent or tool', 'minmax(90px, 170px)'],
  ['asked', 'Asked', 'minmax(120px, 1fr)'],
  ['at', 'At', '116px'],
  ['took', 'Took', '80px'],
  ['cost', 'Cost', '72px'],
] as const;

export type ColumnName = (typeof COLUMNS)[number][0];

/** Names of the columns that are left out. */
export function useHiddenColumns(): readonly [ReadonlySet<ColumnName>, (name: ColumnName) => void] {
  const [stored, store] = useStored('columns');
  const hidden = new Set(COLUMNS.map(([name]) => name).filter((name) => stored.split(' ').includes(name)));
  const toggle = (name: ColumnName): void => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    store([...next].join(' '));
  };
  return [hidden, toggle];
}

interface ColumnProps {
  readonly hidden: ReadonlySet<ColumnName>;
  readonly onToggle: (name: ColumnName) => void;
}

export function ColumnMenu({ hidden, onToggle }: ColumnProps) {
  const items = COLUMNS.map(([name, text]) => ({
    text: hidden.has(name) ? text : `${text} ✓`,
    onChoose: () => onToggle(name),
  }));
  return (
    <Menu trigger={<Button className="requests-columns" />} items={items}>
      Columns <Icon name="down" />
    </Menu>
  );
}
