/** One row of the timeline: its name, its bars, what it took.
 *  It must never draw an edge whose instant is unknown as if it were known. */
import { memo, type ReactNode } from 'react';
import { Icon } from '../../parts/icon.tsx';
import { Text } from '../../parts/text.tsx';
import { labelPlace } from './label-place.ts';
import { type Row, rowText, type Segment } from './timeline-rows.ts';
import { percentOf, type TimeScale, type View } from './time-scale.ts';

export interface TimelineRowProps {
  readonly row: Row;
  readonly place: number;
  /** px. */
  readonly top: number;
  readonly isSelected: boolean;
  readonly isOpened: boolean;
  readonly siblings: readonly [place: number, count: number];
  readonly scale: TimeScale;
  readonly view: View;
  /** px: the width of its track. */
  readonly track: number;
  readonly now: number;
  readonly onSelect: (key: string) => void;
  readonly onToggle: (childId: string) => void;
}

export const TimelineRow = memo(function TimelineRow(props: TimelineRowProps) {
  const { row, place, top, isSelected, isOpened, siblings, onSelect, onToggle } = props;
  const isChild = row.kind === 'child';
  return (
    <div
      id={`timeline-${place}`}
      className="timeline-row"
      role="row"
      aria-rowindex={place + 1}
      aria-level={row.level}
      aria-posinset={siblings[0] || undefined}
      aria-setsize={siblings[1]}
      aria-selected={isSelected}
      aria-expanded={isChild ? isOpened : undefined}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(row.key)}
    >
      <div className="timeline-name" role="rowheader" style={{ paddingLeft: 16 + (row.level - 1) * 14 }}>
        <Mark row={row} isOpened={isOpened} onToggle={onToggle} />
        <span className="timeline-title">
          <Text>{row.name}</Text>
        </span>
        <span className="timeline-id">
          <Text>{row.id}</Text>
        </span>
      </div>
      <Track {...props} />
    </div>
  );
});

function Mark({ row, isOpened, onToggle }: Pick<TimelineRowProps, 'row' | 'isOpened' | 'onToggle'>) {
  if (row.kind !== 'child')
    return <span className={`timeline-mark timeline-mark-${row.kind}`} aria-hidden="true" />;
  return (
    <span
      className="timeline-toggle"
      aria-hidden="true"
      onClick={(event) => {
        event.stopPropagation();
        onToggle(row.id);
      }}
    >
      <Icon name={isOpened ? 'down' : 'right'} />
    </span>
  );
}

/** Part of the row that fades at an unknown edge, per cent. */
const STUB = 2.5;

function Track({ row, scale, view, track, now }: TimelineRowProps): ReactNode {
  const shown = row.segments.map((segment) => placed(segment, (at) => percentOf(scale, view, at), now));
  // A directive that ended as it was accepted has no bars.
  const accepted = clip(percentOf(scale, view, row.from));
  const end = shown.length === 0 ? accepted : Math.max(0, ...shown.map(({ left, width }) => left + width));
  const start = shown.length === 0 ? accepted : Math.min(100, ...shown.map(({ left }) => left));
  const away = start >= 100 ? 'later' : end <= 0 && shown.length > 0 ? 'earlier' : null;
  const place = labelPlace({ start, end, letters: row.label.length, track });
  const isLow = place.side === 'below' && away === null;
  return (
    <div
      className={isLow ? 'timeline-track timeline-track-low' : 'timeline-track'}
      role="gridcell"
      aria-label={rowText(row)}
    >
      <Bars shown={shown} />
      {away === null ? (
        <span
          className="timeline-label"
          style={place.side === 'left' ? { right: `${place.right}%` } : { left: `${place.left}%` }}
        >
          {row.label}
        </span>
      ) : (
        <span className={`timeline-away timeline-away-${away}`} aria-hidden="true">
          {away}
        </span>
      )}
    </div>
  );
}

function Bars({ shown }: { shown: readonly PlacedSegment[] }): ReactNode {
  return shown.map(({ segment, left, width, fades }, index) => (
    <span
      // oxlint-disable-next-line react/no-array-index-key
      key={index}
      className={classOf(segment, fades)}
      style={{ left: `${left}%`, width: `${width}%` }}
    />
  ));
}

interface PlacedSegment {
  readonly segment: Segment;
  readonly left: number;
  readonly width: number;
  readonly fades: 'left' | 'right' | null;
}

function placed(segment: Segment, at: (instant: number) => number, now: number): PlacedSegment {
  const { from, until, isOpen } = segment;
  const right = until ?? (isOpen ? now : null);
  if (from === null) return { segment, left: clip(at(right ?? now)) - STUB, width: STUB, fades: 'left' };
  if (right === null) return { segment, left: clip(at(from)), width: STUB, fades: 'right' };
  const [left, end] = [clip(at(from)), clip(at(Math.max(from, right)))];
  return { segment, left, width: end - left, fades: null };
}

/** An edge far beyond the shown part is drawn just outside. */
function clip(percent: number): number {
  return Math.min(102, Math.max(-2, percent));
}

function classOf({ form, isOpen, isUnsure }: Segment, fades: PlacedSegment['fades']): string {
  return [
    `segment segment-${form}`,
    isOpen ? 'segment-open' : '',
    fades === null ? '' : `segment-fades-${fades}`,
    isUnsure === true ? 'segment-unsure' : '',
  ]
    .filter((name) => name !== '')
    .join(' ');
}
