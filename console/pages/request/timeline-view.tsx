/** The timeline: a legend, an overview, an axis, and one row for each directive, call and child, on a virtual list.
 *  It must never draw more rows than are seen. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import type { RequestTimeline } from '../../../src/contract/request/request-timeline.ts';
import { countText, durationText } from '../../data/shown.ts';
import { useUrlState } from '../../data/url-state.ts';
import { useWidth } from '../../data/use-width.ts';
import { Chip } from '../../parts/chip.tsx';
import { Empty } from '../../parts/empty.tsx';
import { OverviewStrip } from './overview-strip.tsx';
import { useChildren, useNow } from './request-data.ts';
import { Legend } from './timeline-legend.tsx';
import { useTimelineKeys } from './timeline-keys.ts';
import { TimelineRow } from './timeline-row.tsx';
import { type Row, ROW_FILTERS, type RowFilter, rowFilterOf, timelineRows } from './timeline-rows.ts';
import {
  busyTimes,
  extentOf,
  ticksOf,
  timeScale,
  type TimeScale,
  type View,
  viewOf,
  viewText,
  WHOLE,
} from './time-scale.ts';
import { ZoomDrag } from './zoom-drag.tsx';
import './timeline.css';

const ROW = 26;

export function TimelineView({ timeline }: { timeline: RequestTimeline }) {
  const [opened, setOpened] = useUrlState('open');
  const childIds = useMemo(() => opened.split(',').filter(Boolean).slice(0, 50), [opened]);
  const children = useChildren(childIds);
  const [only, setOnly] = useUrlState('only');
  const all = useMemo(() => timelineRows({ timeline, children }), [timeline, children]);
  const shown = rowFilterOf(only);
  const rows = useMemo(() => (shown === null ? all : all.filter(ROW_FILTERS[shown])), [all, shown]);
  const toggle = (id: string): void => {
    const without = childIds.filter((each) => each !== id);
    setOpened((without.length === childIds.length ? [...childIds, id] : without).join(','));
  };
  if (all.length === 0) return <Empty title="Nothing has been sent yet." />;
  return (
    <>
      <div className="timeline-top">
        <Legend rows={all} />
        <Filters rows={all} shown={shown} onShow={(next) => setOnly(next ?? '')} />
      </div>
      <Drawing timeline={timeline} rows={rows} opened={childIds} onToggle={toggle} />
    </>
  );
}

interface FiltersProps {
  readonly rows: readonly Row[];
  /** null: all. */
  readonly shown: RowFilter | null;
  readonly onShow: (filter: RowFilter | null) => void;
}

/** Those that have something to show, and the one that is on. */
function Filters({ rows, shown, onShow }: FiltersProps) {
  const names = Object.keys(ROW_FILTERS) as RowFilter[];
  const counted = names.map((name) => ({ name, count: rows.filter(ROW_FILTERS[name]).length }));
  return (
    <div className="timeline-filters" role="group" aria-label="Show only">
      {counted
        .filter(({ name, count }) => count > 0 || name === shown)
        .map(({ name, count }) => (
          <Chip
            key={name}
            isOn={name === shown}
            count={count}
            onToggle={() => onShow(name === shown ? null : name)}
          >
            {name}
          </Chip>
        ))}
    </div>
  );
}

interface DrawingProps {
  readonly timeline: RequestTimeline;
  readonly rows: readonly Row[];
  readonly opened: readonly string[];
  readonly onToggle: (childId: string) => void;
}

function Drawing(props: DrawingProps) {
  const { timeline, rows } = props;
  const place = useScale(timeline, rows);
  const { scale, view, setView, now } = place;
  const axis = useRef<HTMLDivElement>(null);
  const track = useWidth(axis);
  return (
    <>
      <div className="timeline-head">
        <span className="timeline-count">
          {rows.length === 1 ? 'One step or call' : `${countText(rows.length)} steps and calls`}
        </span>
        <OverviewStrip rows={rows} scale={scale} view={view} now={now} onView={setView} />
        <div ref={axis} className="timeline-axis" aria-hidden="true">
          <Ticks scale={scale} view={view} />
        </div>
      </div>
      <Grid {...props} {...place} track={track} />
      <Notes timeline={timeline} collapse={place.collapse} onCollapse={place.setCollapse} scale={scale} />
    </>
  );
}

type GridProps = DrawingProps & ReturnType<typeof useScale> & { /** px. */ readonly track: number };

function Grid(props: GridProps) {
  const { rows, view, setView } = props;
  const [selected, select] = useUrlState('step');
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const place = rows.findIndex(({ key }) => key === selected);
  const choose = (next: number): void => {
    const row = rows[Math.min(Math.max(0, next), rows.length - 1)];
    if (row === undefined) return;
    select(row.key);
    list.scrollToIndex(rows.indexOf(row));
  };
  useTimelineKeys({ ...props, place, choose });
  return (
    <div
      ref={box}
      className="timeline-rows"
      role="treegrid"
      aria-label="Timeline"
      aria-rowcount={rows.length}
      tabIndex={0}
      aria-activedescendant={place === -1 ? undefined : `timeline-${place}`}
      onDoubleClick={() => setView(WHOLE)}
    >
      <div role="presentation" style={{ height: list.getTotalSize(), position: 'relative' }}>
        <ShownRows
          {...props}
          items={withActive(list.getVirtualItems(), place)}
          place={place}
          select={select}
        />
      </div>
      <ZoomDrag box={box} view={view} onView={setView} />
    </div>
  );
}

interface ShownProps extends GridProps {
  readonly items: readonly { readonly index: number; readonly start: number }[];
  readonly place: number;
  readonly select: (key: string) => void;
}

function ShownRows({ rows, items, place, select, opened, onToggle, scale, view, track, now }: ShownProps) {
  return items.map(({ index, start }) => {
    const row = rows[index];
    if (row === undefined) return null;
    return (
      <TimelineRow
        key={row.key}
        row={row}
        place={index}
        top={start}
        isSelected={index === place}
        isOpened={opened.includes(row.id)}
        siblings={siblingsOf(rows, row)}
        {...{ scale, view, track, now, onToggle }}
        onSelect={select}
      />
    );
  });
}

/** The selected row stays mounted, so that screen readers can read it. */
function withActive<Item extends { index: number; start: number }>(items: readonly Item[], place: number) {
  const shown: { index: number; start: number }[] = [...items];
  if (place !== -1 && !items.some(({ index }) => index === place))
    shown.push({ index: place, start: place * ROW });
  return shown;
}

function siblingsOf(rows: readonly Row[], row: Row): readonly [place: number, count: number] {
  if (row.level === 1 && rows.length > 2_000) return [0, rows.length];
  const same = rows.filter(({ level, requestId }) => level === row.level && requestId === row.requestId);
  return [same.indexOf(row) + 1, same.length];
}

function useScale(timeline: RequestTimeline, rows: readonly Row[]) {
  const [zoom, setZoom] = useUrlState('zoom');
  const [idle, setIdle] = useUrlState('idle');
  const now = useNow(timeline.read_at, timeline.status === 'open');
  const collapse = idle !== 'shown';
  const scale = useMemo(() => {
    const extent = extentOf(rows, { from: Date.parse(timeline.created_at), now });
    return timeScale(extent, collapse ? busyTimes(rows, now) : null);
  }, [rows, timeline.created_at, now, collapse]);
  return {
    now,
    scale,
    view: viewOf(scale, zoom),
    setView: (view: View) => setZoom(viewText(scale, view)),
    collapse,
    setCollapse: (on: boolean) => setIdle(on ? '' : 'shown'),
  };
}

function Ticks({ scale, view }: { scale: TimeScale; view: View }) {
  const most = matchMedia('(max-width: 759px)').matches ? 4 : 8;
  return ticksOf(scale, view, most).map(({ percent, text }) => (
    <span key={`${text}${percent}`} style={{ left: `${percent}%` }}>
      {text}
    </span>
  ));
}

interface NotesProps {
  readonly timeline: RequestTimeline;
  readonly collapse: boolean;
  readonly onCollapse: (on: boolean) => void;
  readonly scale: TimeScale;
}

/** Notes about what is not drawn. */
function Notes({ timeline, collapse, onCollapse, scale }: NotesProps) {
  const { spans_left_out: spans, directives_left_out: directives, signals_left_out: signals, run } = timeline;
  const folded = scale.folds.reduce((sum, [from, until]) => sum + until - from, 0);
  const missing = [
    directives > 0 ? `${directives} more directives` : '',
    spans > 0 ? `${spans} more attempts and waits` : '',
    signals > 0 ? `${signals} signals of a long log were not read` : '',
    (run?.turns_left_out ?? 0) > 0 ? `${run?.turns_left_out} earlier turns are not kept` : '',
  ].filter((text) => text !== '');
  return (
    <div className="timeline-notes">
      <label>
        <input type="checkbox" checked={collapse} onChange={({ target }) => onCollapse(target.checked)} />{' '}
        Collapse idle time{folded > 0 ? ` (${durationText(folded)} folded)` : ''}
      </label>
      {missing.length > 0 && <span>Not drawn: {missing.join(', ')}.</span>}
      <span className="timeline-help">Drag to zoom, double-click for all · + − 0</span>
    </div>
  );
}
