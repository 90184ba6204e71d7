// One page of requests by duration or cost, the highest first, chosen of all that a search has looked at.
// Never holds more of them than some pages: the index sorts by creation alone.
import {
  type ListedRequest,
  type ListPlace,
  placeOfCursor,
  type RequestQuery,
} from '../../contract/request/request-listing.ts';
import { orderValue } from '../../contract/request/request-order.ts';
import type { Found } from './merged-tenants.ts';

/** Pages of rows that are kept before the lowest are dropped. */
const KEPT_PAGES = 4;

export interface Sorting {
  add(row: ListedRequest): void;
  /** `stoppedAt`: where the search stopped; null: it saw all. */
  page(stoppedAt: ListPlace | null): Found;
}

interface Valued {
  readonly row: ListedRequest;
  /** An integer, as cursors have it. */
  readonly value: number;
  readonly id: string;
}

/** `most`: rows of a page. null: the list is sorted by creation. */
export function sortingOf({ sort = 'created', cursor }: RequestQuery, most: number): Sorting | null {
  if (sort === 'created') return null;
  const after = cursor === undefined ? null : placeOfCursor(cursor);
  let kept: Valued[] = [];
  return {
    add(row) {
      const id = row.tenant === undefined ? row.request_id : `${row.tenant}~${row.request_id}`;
      const one = { row, value: orderValue(row, sort), id };
      if (after !== null && order(one, { value: after.createdAt, id: after.id }) <= 0) return;
      if (kept.push(one) > KEPT_PAGES * (most + 1)) kept = kept.toSorted(order).slice(0, most + 1);
    },
    page(stoppedAt) {
      const sorted = kept.toSorted(order);
      const page = sorted.slice(0, most);
      const last = page.at(-1);
      const next = sorted.length > most && last !== undefined ? { createdAt: last.value, id: last.id } : null;
      return { requests: page.map(({ row }) => row), next, early: false, stoppedAt };
    },
  };
}

function order(left: Pick<Valued, 'value' | 'id'>, right: Pick<Valued, 'value' | 'id'>): number {
  return right.value - left.value || (left.id > right.id ? -1 : left.id < right.id ? 1 : 0);
}
