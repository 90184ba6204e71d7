/** The rows of the list while it is live: the shown ones, and new ones that wait.
 *  Never moves a row while it is read: new ones come when they are asked for. */
import type { ListedRequest } from '../../../src/contract/request/request-listing.ts';
import { keyOf } from '../../data/tenant.ts';

export interface Rows {
  /** Newest first. */
  readonly shown: readonly ListedRequest[];
  /** Newer than all that is shown. */
  readonly held: readonly ListedRequest[];
  /** More than a page came since: the list begins anew when they are shown. */
  readonly hasGap: boolean;
}

export const NO_ROWS: Rows = { shown: [], held: [], hasGap: false };

/** The first page, read anew. `isStill`: the list is scrolled or has a selection, so only shown rows change. */
export function refreshed(
  old: Rows,
  page: readonly ListedRequest[],
  isStill: boolean,
  hasOlder: boolean,
): Rows {
  const latest = new Map(page.map((row) => [keyOf(row), row]));
  const known = new Set(old.shown.map(keyOf));
  const shown = old.shown.map((row) => latest.get(keyOf(row)) ?? row);
  const fresh = page.filter((row) => !known.has(keyOf(row)));
  if (old.shown.length === 0) return { shown: page, held: [], hasGap: false };
  const hasGap = fresh.length === page.length && hasOlder;
  if (isStill) return { shown, held: fresh.filter((row) => isNewer(row, old.shown[0])), hasGap };
  if (hasGap) return { shown: page, held: [], hasGap: false };
  return { shown: merged(page, shown), held: [], hasGap: false };
}

/** Those of a further page, after the ones that are shown. */
export function extended(old: Rows, page: readonly ListedRequest[]): Rows {
  const known = new Set(old.shown.map(keyOf));
  return { ...old, shown: [...old.shown, ...page.filter((row) => !known.has(keyOf(row)))] };
}

/** The first page is right for its range; what is older stays. */
function merged(page: readonly ListedRequest[], shown: readonly ListedRequest[]): ListedRequest[] {
  const last = page.at(-1);
  const older = last === undefined ? [] : shown.filter((row) => isNewer(last, row));
  return [...page, ...older];
}

/** In the order of the list: by time, then by id. */
function isNewer(row: ListedRequest, than: ListedRequest | undefined): boolean {
  if (than === undefined) return true;
  if (row.created_at !== than.created_at) return row.created_at > than.created_at;
  return keyOf(row) > keyOf(than);
}

/** Rows of any page that was read again, each in its place. */
export function updated(old: Rows, page: readonly ListedRequest[]): Rows {
  const latest = new Map(page.map((row) => [keyOf(row), row]));
  return { ...old, shown: old.shown.map((row) => latest.get(keyOf(row)) ?? row) };
}

export interface Seen {
  readonly first: number;
  readonly last: number;
}

/** The page of the rows in sight that the first page does not have: what it follows, and how many; null: it has all of them. */
export function pageInSight(
  shown: readonly ListedRequest[],
  firstPage: readonly ListedRequest[],
  seen: Seen,
): { readonly cursor: string; readonly limit: number } | null {
  const last = firstPage.at(-1);
  const lastKey = last === undefined ? '' : keyOf(last);
  const covered = shown.findIndex((row) => keyOf(row) === lastKey) + 1;
  const first = Math.max(seen.first, covered, 1);
  const before = shown[first - 1];
  const count = Math.min(seen.last + 1, shown.length) - first;
  if (before === undefined || count <= 0) return null;
  return {
    cursor: `${Date.parse(before.created_at)}.${keyOf(before)}`,
    limit: Math.min(count, MOST_IN_SIGHT),
  };
}

const MOST_IN_SIGHT = 200;
/** Rows in sight are read each two seconds. */
const OLD_MS = 10_000;

/** When a row that may change was read, milliseconds; null: just now. `latest`: the last instant at which anything was read. */
export function ageOf(row: ListedRequest, readAt: number | undefined, latest: number): number | null {
  if (row.closed_at !== null || readAt === undefined || latest - readAt < OLD_MS) return null;
  return readAt;
}

/** Rows that an action concerns: of the chosen ones those that the list has. */
export function chosenOf(
  rows: readonly ListedRequest[],
  selected: ReadonlySet<string>,
): { readonly chosen: readonly ListedRequest[]; readonly words: string } {
  const chosen = rows.filter((row) => selected.has(keyOf(row)));
  const away = selected.size - chosen.length;
  const words = `${chosen.length} chosen`;
  return { chosen, words: away === 0 ? words : `${words}, ${away} not in this list any more` };
}

/** Order of the loaded rows: by time, as the service lists them, by duration or by cost; the largest first. */
export type Sort = 'at' | 'took' | 'cost';

export function sorted(rows: readonly ListedRequest[], sort: Sort): readonly ListedRequest[] {
  if (sort === 'at') return rows;
  const took = ({ created_at: from, closed_at: to }: ListedRequest): number =>
    to === null ? -1 : Date.parse(to) - Date.parse(from);
  const valueOf = sort === 'took' ? took : ({ cost }: ListedRequest): number => cost ?? -1;
  return rows.toSorted((one, other) => valueOf(other) - valueOf(one));
}
