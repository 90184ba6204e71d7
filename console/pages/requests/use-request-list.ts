/** The list of requests, live: the first page is read each two seconds and so are rows in sight, further ones when they are scrolled to.
 *  It must never hold more than some thousand rows. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { ListedRequest, RequestListing } from '../../../src/contract/request/request-listing.ts';
import type { RequestOrder } from '../../../src/contract/request/request-order.ts';
import { call, isListOff } from '../../data/api.ts';
import { LIST_OFF_MS } from '../../data/queries.ts';
import { keyOf } from '../../data/tenant.ts';
import { ageOf, extended, noRows, pageInSight, refreshed, type Rows, type Seen, updated } from './rows.ts';

const EVERY_MS = 2_000;
const PAGE = 100;
const MOST_ROWS = 10_000;

export interface RequestList {
  readonly rows: readonly ListedRequest[];
  readonly held: number;
  readonly hasGap: boolean;
  readonly listing: RequestListing | null;
  readonly error: Error | null;
  /** There are more than are held: only a narrower filter shows them. */
  readonly isCut: boolean;
  /** When a row was read that may have changed since, milliseconds; null: just now. */
  ageOf(row: ListedRequest): number | null;
  /** Which rows are in sight. */
  see(seen: Seen): void;
  more(): void;
  /** Shows what is new, from the top. */
  showNew(): void;
}

interface State {
  readonly rows: Rows;
  readonly listing: RequestListing | null;
  /** Cursor of the page that follows the last row; null: there is none. */
  readonly next: string | null;
  readonly error: Error | null;
  /** Instant at which each row was read, milliseconds. */
  readonly readAt: ReadonlyMap<string, number>;
  readonly latest: number;
}

function emptyState(order: RequestOrder, listing: RequestListing | null): State {
  return { rows: noRows(order), listing, next: null, error: null, readAt: new Map(), latest: 0 };
}

/** `filter`: query of the URL, as text; null: the filter is wrong, and nothing is read. `isStill`: rows do not move now. */
export function useRequestList(filter: string | null, order: RequestOrder, isStill: boolean): RequestList {
  const [state, setState] = useState<State>(() => emptyState(order, null));
  const query = filter === null || order === 'created' ? filter : `${filter}&sort=${order}`;
  const still = useRef(isStill);
  const isReading = useRef(false);
  const seen = useRef<Seen>({ first: 0, last: 0 });
  const shown = useRef<readonly ListedRequest[]>([]);
  useEffect(() => {
    still.current = isStill;
    shown.current = state.rows.shown;
  });

  useEffect(() => {
    setState((old) => emptyState(order, old.listing));
    if (query === null) return undefined;
    return repeat(async (signal) => {
      try {
        const page = await readPage(query, null, signal);
        setState((old) => withFirst(old, page, still.current));
        const inSight = pageInSight({ shown: shown.current, order }, page.requests, seen.current);
        if (inSight === null) return EVERY_MS;
        const again = await readPage(query, inSight.cursor, signal, inSight.limit);
        setState((old) => read({ ...old, rows: updated(old.rows, again.requests) }, again));
      } catch (error) {
        if (!signal.aborted) setState((old) => ({ ...old, error: error as Error }));
        if (isListOff(error)) return LIST_OFF_MS;
      }
      return EVERY_MS;
    });
  }, [query, order]);

  const { next } = state;
  const more = useCallback(() => {
    const isFull = shown.current.length >= MOST_ROWS;
    if (query === null || next === null || isFull || isReading.current) return;
    isReading.current = true;
    readPage(query, next, null)
      .then((page) => setState((old) => (old.next === next ? withFurther(old, page) : old)))
      .catch((error: unknown) => setState((old) => ({ ...old, error: error as Error })))
      .finally(() => {
        isReading.current = false;
      });
  }, [query, next]);

  const showNew = useCallback(() => {
    setState((old) => {
      if (old.listing === null) return old;
      const rows = old.rows.hasGap ? noRows(old.rows.order) : old.rows;
      return withFirst({ ...old, rows }, old.listing, false);
    });
  }, []);

  const see = useCallback((now: Seen) => {
    seen.current = now;
  }, []);

  const { rows, listing, error, readAt, latest } = state;
  return {
    rows: rows.shown,
    held: rows.held.length,
    hasGap: rows.hasGap,
    listing,
    error,
    isCut: next !== null && rows.shown.length >= MOST_ROWS,
    ageOf: (row) => ageOf(row, readAt.get(keyOf(row)), latest),
    see,
    more,
    showNew,
  };
}

function withFirst(old: State, page: RequestListing, isStill: boolean): State {
  const rows = refreshed(old.rows, page.requests, isStill, page.next !== null);
  // Once older rows are there, their end decides what follows.
  const isOnly = rows.shown.length <= page.requests.length;
  return read({ ...old, rows, listing: page, next: isOnly ? page.next : old.next }, page);
}

function read(state: State, { requests }: RequestListing): State {
  const latest = Date.now();
  const page = new Set(requests.map(keyOf));
  const readAt = new Map(
    state.rows.shown
      .map(keyOf)
      .map((key) => [key, page.has(key) ? latest : (state.readAt.get(key) ?? latest)]),
  );
  return { ...state, error: null, latest, readAt };
}

function withFurther(old: State, page: RequestListing): State {
  return read({ ...old, rows: extended(old.rows, page.requests), next: page.next }, page);
}

async function readPage(
  query: string,
  cursor: string | null,
  signal: AbortSignal | null,
  limit = PAGE,
): Promise<RequestListing> {
  const search = new URLSearchParams(query);
  search.set('limit', String(limit));
  if (cursor !== null) search.set('cursor', cursor);
  return call<RequestListing>('GET', `/v1/requests?${search}`, signal === null ? {} : { signal });
}

/** While the page is seen; one after the other. `read` says after how long it is read again, milliseconds. */
function repeat(read: (signal: AbortSignal) => Promise<number>): () => void {
  const stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = async (): Promise<void> => {
    const waitMs = document.hidden ? EVERY_MS : await read(stop.signal);
    if (!stop.signal.aborted) timer = setTimeout(() => void run(), waitMs);
  };
  void run();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
