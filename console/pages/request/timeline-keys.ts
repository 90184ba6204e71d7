/** The keys of the timeline: rows, zoom, pan, children, errors.
 *  It must never act on the request. */
import { useKeys } from '../../keys/keymap.ts';
import { isTrouble, type Row } from './timeline-rows.ts';
import { panned, type TimeScale, type View, WHOLE, zoomed } from './time-scale.ts';

export interface TimelineKeys {
  readonly rows: readonly Row[];
  /** Place of the selected row; -1: none. */
  readonly place: number;
  readonly choose: (place: number) => void;
  readonly scale: TimeScale;
  readonly view: View;
  readonly setView: (view: View) => void;
  readonly opened: readonly string[];
  readonly onToggle: (childId: string) => void;
  readonly now: number;
}

export function useTimelineKeys(keys: TimelineKeys): void {
  const { rows, place, choose, view, setView } = keys;
  const next = (): void => choose(place + 1);
  const previous = (): void => choose(place === -1 ? 0 : place - 1);
  const zoomIn = (): void => setView(zoomed(view, 0.5));
  useKeys({
    j: next,
    ArrowDown: next,
    k: previous,
    ArrowUp: previous,
    '+': zoomIn,
    '=': zoomIn,
    '-': () => setView(zoomed(view, 2)),
    '0': () => setView(WHOLE),
    'Shift+ArrowLeft': () => setView(panned(view, -0.25)),
    'Shift+ArrowRight': () => setView(panned(view, 0.25)),
    ArrowRight: () => toggle(keys, true),
    ArrowLeft: () => toggle(keys, false),
    z: () => zoomToRow(keys),
    e: () => {
      const after = rows.findIndex((row, index) => index > place && isTrouble(row));
      choose(after === -1 ? rows.findIndex(isTrouble) : after);
    },
  });
}

function toggle({ rows, place, opened, onToggle }: TimelineKeys, open: boolean): void {
  const row = rows[place];
  if (row?.kind === 'child' && opened.includes(row.id) !== open) onToggle(row.id);
}

function zoomToRow({ rows, place, scale, now, setView }: TimelineKeys): void {
  const row = rows[place];
  if (row === undefined) return;
  const [left, right] = [scale.at(row.from), scale.at(row.until ?? now)];
  const room = Math.max((right - left) * 0.15, 1e-5);
  setView({ left: Math.max(0, left - room), right: Math.min(1, right + room) });
}
