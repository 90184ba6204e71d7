/** The rows of the list while it is live: the shown ones, and new ones that wait.
 *  Never moves a row while it is read: new ones come when they are asked for. */
import type { ListedRequest } from '../../../src/contract/request/request-listing.ts';
import { orderValue, type RequestOrder } from '../../../src/contract/request/request-order.ts';
import { keyOf } from '../../data/tenant.ts';

export interface Rows {
  readonly order: RequestOrder;
  /** In this order, the highest first. */
  readonly shown: readonly ListedRequest[];
  /** New ones that come before all that is shown. */
  readonly held: readonly ListedRequest[];
  /** More than a page came since: the list begins anew when they are shown. */
  readonly hasGap: boolean;
}

export function noRows(order: RequestOrder): Rows {
  return { order, shown: [], held: [], hasGap: false };
}

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
  const only = { ...noRows(old.order), shown: page };
  if (old.shown.length === 0) return only;
  const hasGap = fresh.length === page.length && hasOlder;
  if (isStill)
    return { ...old, shown, held: fresh.filter((row) => isBefore(row, old.shown[0], old.order)), hasGap };
  return hasGap ? only : { ...only, shown: merged(page, shown, old.order) };
}

/** Those of a further page, after the ones that are shown. */
export function extended(old: Rows, page: readonly ListedRequest[]): Rows {
  const known = new Set(old.shown.map(keyOf));
  return { ...old, shown: [...old.shown, ...page.filter((row) => !known.has(keyOf(row)))] };
}

/** The first page is right for its range; the rows after it stay. */
function merged(
  page: readonly ListedRequest[],
  shown: readonly ListedRequest[],
  order: RequestOrder,
): ListedRequest[] {
  const last = page.at(-1);
  const further = last === undefined ? [] : shown.filter((row) => isBefore(last, row, order));
  return [...page, ...further];
}

/** The order of the list: by its value, then by id. */
function isBefore(row: ListedRequest, other: ListedRequest | undefined, order: RequestOrder): boolean {
  if (other === undefined) return true;
  const difference = orderValue(row, order) - orderValue(other, order);
  return difference === 0 ? keyOf(row) > keyOf(other) : difference > 0;
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
  { shown, order }: Pick<Rows, 'shown' | 'order'>,
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
    cursor: `${orderValue(before, order)}.${keyOf(before)}`,
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
