/** Places of instants on a line from 0 to 1, with long idle times folded if asked, and the part of it that is shown.
 *  It must never change the order of two instants. */
import { durationText } from '../../data/shown.ts';
import type { Row } from './timeline-rows.ts';

export type Interval = readonly [from: number, until: number];

export interface TimeScale {
  readonly from: number;
  readonly until: number;
  /** The place of an instant; outside of the scale below 0 or above 1. */
  at(instant: number): number;
  instantAt(place: number): number;
  /** The folded times. */
  readonly folds: readonly Interval[];
}

/** Extent of the whole line. */
const FOLD_SHARE = 0.02;
/** Shorter idle times stay. */
const LEAST_FOLD_MS = 2_000;
/** An idle time is folded when it is longer than this share of what is busy. */
const LONG_SHARE = 0.1;

/** The first and the last instant of some rows; open ends reach to `now`. */
export function extentOf(rows: readonly Row[], { from, now }: { from: number; now: number }): Interval {
  let [first, last] = [from, from];
  for (const row of rows) {
    if (Number.isFinite(row.from)) first = Math.min(first, row.from);
    last = Math.max(
      last,
      row.until ?? now,
      ...row.segments.map(({ until, isOpen }) => until ?? (isOpen ? now : 0)),
    );
  }
  return [first, Math.max(last, first + 1)];
}

const IDLE: ReadonlySet<string> = new Set([
  'queue',
  'later',
  'held',
  'wait',
  'backoff',
  'redelivery',
  'child',
]);

/** When something worked; waiting is idle. */
export function busyTimes(rows: readonly Row[], now: number): Interval[] {
  const times = rows.flatMap(({ segments }) =>
    segments.flatMap(({ form, from, until, isOpen }): Interval[] => {
      if (IDLE.has(form) || from === null) return [];
      return [[from, until ?? (isOpen ? now : from)]];
    }),
  );
  return merged(times);
}

function merged(times: readonly Interval[]): Interval[] {
  const sorted = times.toSorted((left, right) => left[0] - right[0]);
  const out: [number, number][] = [];
  for (const [from, until] of sorted) {
    const last = out.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], until);
    else out.push([from, until]);
  }
  return out;
}

export function timeScale([from, until]: Interval, busy: readonly Interval[] | null): TimeScale {
  const folds = busy === null ? [] : longIdle([from, until], busy);
  const folded = folds.reduce((sum, [start, end]) => sum + end - start, 0);
  const room = Math.max(0.1, 1 - folds.length * FOLD_SHARE);
  const perMs = room / Math.max(1, until - from - folded);
  const foldRoom = folds.length === 0 ? 0 : (1 - room) / folds.length;
  const steps = scaleSteps([from, until], folds, { perMs, foldRoom });
  return {
    from,
    until,
    folds,
    at: (instant) => placeOf(steps, instant, 0, 1),
    instantAt: (place) => placeOf(steps, place, 1, 0),
  };
}

type Step = readonly [instant: number, place: number];

function scaleSteps(
  [from, until]: Interval,
  folds: readonly Interval[],
  { perMs, foldRoom }: { perMs: number; foldRoom: number },
): Step[] {
  const steps: Step[] = [[from, 0]];
  let [instant, place] = [from, 0];
  for (const [start, end] of folds) {
    place += (start - instant) * perMs;
    steps.push([start, place], [end, place + foldRoom]);
    [instant, place] = [end, place + foldRoom];
  }
  steps.push([until, place + (until - instant) * perMs]);
  return steps;
}

/** Between two steps in a straight line; beyond the ends as within the last one. */
function placeOf(steps: readonly Step[], value: number, by: 0 | 1, to: 0 | 1): number {
  const found = steps.findIndex((step, index) => index > 0 && value <= step[by]);
  const index = found === -1 ? steps.length - 1 : found;
  const [left, right] = [steps[index - 1] ?? [0, 0], steps[index] ?? [0, 1]];
  const span = right[by] - left[by];
  return span === 0 ? left[to] : left[to] + ((value - left[by]) / span) * (right[to] - left[to]);
}

function longIdle([from, until]: Interval, busy: readonly Interval[]): Interval[] {
  const total = busy.reduce((sum, [start, end]) => sum + end - start, 0);
  const least = Math.max(LEAST_FOLD_MS, total * LONG_SHARE);
  const edges = [from, ...busy.flat(), until];
  const idle: Interval[] = [];
  for (let index = 0; index + 1 < edges.length; index += 2) {
    const [start, end] = [edges[index] ?? 0, edges[index + 1] ?? 0];
    if (end - start > least) idle.push([start, end]);
  }
  // Each one takes room: more of them than that would leave none for the work.
  return idle
    .toSorted((a, b) => b[1] - b[0] - (a[1] - a[0]))
    .slice(0, 20)
    .sort((a, b) => a[0] - b[0]);
}

/** The shown part of a scale, in places. */
export interface View {
  readonly left: number;
  readonly right: number;
}

export const WHOLE: View = { left: 0, right: 1 };
const LEAST_VIEW = 1e-6;

/** In per cent of the shown part. */
export function percentOf(scale: TimeScale, view: View, instant: number): number {
  return ((scale.at(instant) - view.left) / (view.right - view.left)) * 100;
}

export function zoomed(view: View, factor: number, middle = (view.left + view.right) / 2): View {
  const half = Math.max(LEAST_VIEW, ((view.right - view.left) * factor) / 2);
  return half >= 0.5 ? WHOLE : bounded({ left: middle - half, right: middle + half });
}

export function panned(view: View, share: number): View {
  const by = (view.right - view.left) * share;
  return bounded({ left: view.left + by, right: view.right + by });
}

function bounded({ left, right }: View): View {
  const width = Math.min(1, right - left);
  const start = Math.min(Math.max(0, left), 1 - width);
  return { left: start, right: start + width };
}

/** `1200-5400`: milliseconds after the beginning, so that it means the same when the request has gone on. '' : all of it. */
export function viewText(scale: TimeScale, { left, right }: View): string {
  if (left <= 0 && right >= 1) return '';
  return `${Math.round(scale.instantAt(left) - scale.from)}-${Math.round(scale.instantAt(right) - scale.from)}`;
}

export function viewOf(scale: TimeScale, text: string): View {
  const found = /^(\d{1,15})-(\d{1,15})$/.exec(text);
  if (found === null) return WHOLE;
  const left = scale.at(scale.from + Number(found[1]));
  const right = scale.at(scale.from + Number(found[2]));
  return right - left < LEAST_VIEW ? WHOLE : bounded({ left, right });
}

export interface Tick {
  readonly percent: number;
  readonly text: string;
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000, 172_800_000,
  604_800_000,
];

/** Round times after the beginning, without those that are folded; `most`: about so many. */
export function ticksOf(scale: TimeScale, view: View, most: number): Tick[] {
  const [from, until] = [scale.instantAt(view.left), scale.instantAt(view.right)];
  const pieces = shownPieces(scale, [from, until]);
  const busy = pieces.reduce((sum, [start, end]) => sum + end - start, 0);
  const step = STEPS_MS.find((each) => busy / each <= most) ?? busy / most;
  const offsets = pieces.flatMap(([start, end]) => multiplesIn([start - scale.from, end - scale.from], step));
  let last = -Infinity;
  return offsets.flatMap((offset) => {
    const percent = percentOf(scale, view, scale.from + offset);
    if (percent - last < (100 / most) * 0.6) return [];
    last = percent;
    return [{ percent, text: durationText(offset) }];
  });
}

function shownPieces({ folds }: TimeScale, [from, until]: Interval): Interval[] {
  const edges = [from, ...folds.flat().map((edge) => Math.min(Math.max(edge, from), until)), until];
  return Array.from({ length: edges.length / 2 }, (_, index): Interval => [
    edges[index * 2] ?? from,
    edges[index * 2 + 1] ?? until,
  ]);
}

function multiplesIn([from, until]: Interval, step: number): number[] {
  const first = Math.ceil(from / step);
  const count = Math.max(0, Math.floor(until / step) - first + 1);
  return Array.from({ length: Math.min(count, 64) }, (_, index) => (first + index) * step);
}
