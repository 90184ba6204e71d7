// Lists the matching requests of a tenant, newest first, page by page. Never does more than one page's share of work:
// it returns its place, and the cursor continues from there.
import { createSemaphore, type Semaphore } from '../../platform/bounds/semaphore.ts';
import { createSteps } from '../../platform/bounds/steps.ts';
import type { TenantBytes } from '../limits/tenant-bytes.ts';
import {
  cursorOf,
  DEFAULT_LISTING,
  LARGEST_LISTING,
  type ListedRequest,
  type ListPlace,
  placeOfCursor,
  REQUEST_STATUSES,
  type RequestFilter,
  type RequestListing,
  type RequestQuery,
} from '../../contract/request/request-listing.ts';
import { ownId, scopedId } from '../../contract/access/tenant.ts';
import type { ChangedRequests } from '../index/changed-requests.ts';
import type { ListBuild } from './list-build.ts';
import { COMMON_STATUS, facetOf, FACETS, readRow } from './row.ts';
import type { ScanPlace, SearchIndex } from './search-index.ts';

export interface RequestListParts {
  index: Pick<SearchIndex, 'scan' | 'sizes' | 'errorTypes'>;
  storedOf: TenantBytes['of'];
  changes: Pick<ChangedRequests, 'lagMs'>;
  build: Pick<ListBuild, 'state'>;
  /** Milliseconds since the epoch, by the clock of Redis. */
  now(): Promise<number>;
}

export type ListRequests = (query: RequestQuery, tenant: string) => Promise<RequestListing>;

/**
 * Bound of a search for words, or of sets with little in common: rows that are checked for one page, and the time for
 * it.
 */
const MOST_SEEN = 20_000;
const LONGEST_SEARCH_MS = 150;
/** Number at once: Redis is blocked for a few hundred microseconds. */
const SEEN_AT_ONCE = 500;
const MOST_WORDS = 8;
/** Long searches of one tenant that wait for the one before; a further one ends with what it has found. */
const MOST_WAITING = 32;

/** The place of one search among the long ones of its tenant, of which one goes on at a time. */
interface Turn {
  /** false: too many wait already. */
  take(): Promise<boolean>;
  release(): void;
}

function createTurns(): (tenant: string) => Turn {
  const lines = new Map<string, { readonly places: Semaphore; searches: number }>();
  return (tenant) => {
    let line: { readonly places: Semaphore; searches: number } | null = null;
    return {
      async take() {
        const found = lines.get(tenant) ?? { places: createSemaphore(1), searches: 0 };
        if (found.searches > MOST_WAITING) return false;
        lines.set(tenant, found);
        found.searches += 1;
        line = found;
        return found.places.take();
      },
      release() {
        if (line === null) return;
        line.places.release();
        line.searches -= 1;
        if (line.searches === 0) lines.delete(tenant);
      },
    };
  };
}

export function createRequestList({ index, changes, build, now, storedOf }: RequestListParts): ListRequests {
  const turnOf = createTurns();
  const nextStep = createSteps();

  async function countsOf(tenant: string): Promise<RequestListing['counts']> {
    const rare = REQUEST_STATUSES.filter((status) => status !== COMMON_STATUS);
    const [[total, ...sizes], error_types, stored] = await Promise.all([
      index.sizes(
        tenant,
        rare.map((status) => facetOf('status', status)),
      ),
      index.errorTypes(tenant),
      storedOf(tenant),
    ]);
    const counted = Object.fromEntries(rare.map((status, at) => [status, sizes[at] ?? 0]));
    const others = sizes.reduce((sum, size) => sum + size, 0);
    const status = { ...counted, [COMMON_STATUS]: Math.max(0, total - others) };
    return {
      total,
      status: status as RequestListing['counts']['status'],
      error_types,
      ...(stored !== null && { stored_bytes: stored }),
    };
  }

  async function lagMs(): Promise<number> {
    return changes.lagMs(await now());
  }

  async function search(query: RequestQuery, tenant: string): Promise<Found> {
    const turn = turnOf(tenant);
    try {
      return await searchFor(query, tenant, turn);
    } finally {
      turn.release();
    }
  }

  async function searchFor(query: RequestQuery, tenant: string, turn: Turn): Promise<Found> {
    const most = Math.min(query.limit ?? DEFAULT_LISTING, LARGEST_LISTING);
    const wanted = matcher(query);
    const facets = facetsOf(query);
    const since = query.since === undefined ? null : Date.parse(query.since);
    let until = performance.now() + LONGEST_SEARCH_MS;
    const requests: ListedRequest[] = [];
    let from = beginningOf(query, tenant);
    for (let seen = 0; ; seen += SEEN_AT_ONCE) {
      const mostFound = wanted === null ? most - requests.length : SEEN_AT_ONCE;
      const scanned = await index.scan(tenant, { facets, from, since, mostSeen: SEEN_AT_ONCE, mostFound });
      for (const { id, stored } of scanned.rows) {
        await nextStep();
        const row = readRow(ownId(id), stored);
        if (row === null || wanted?.(row) === false) continue;
        requests.push(row);
        if (requests.length === most) return { requests, next: placeOf(row), early: false };
      }
      from = scanned.next;
      if (scanned.next === null) return { requests, next: null, early: false };
      const hasTurn = seen > 0 || (await turn.take());
      if (seen === 0) until = performance.now() + LONGEST_SEARCH_MS;
      if (!hasTurn || seen >= MOST_SEEN || performance.now() > until)
        return { requests, next: placeIn(scanned.next), early: true };
    }
  }

  return async (query, tenant) => {
    // Before the search: what is complete then is in it.
    const state = await build.state();
    const [found, counts, lag_ms] = await Promise.all([search(query, tenant), countsOf(tenant), lagMs()]);
    const { requests, next, early } = found;
    return {
      requests,
      next: next === null ? null : cursorOf(next),
      searched_until: early && next !== null ? new Date(next.createdAt).toISOString() : null,
      counts,
      lag_ms,
      incomplete: !state.complete,
    };
  };
}

interface Found {
  requests: ListedRequest[];
  next: ListPlace | null;
  early: boolean;
}

function placeOf({ created_at, request_id }: ListedRequest): ListPlace {
  return { createdAt: Date.parse(created_at), id: request_id };
}

function placeIn({ createdAt, id }: ListPlace): ListPlace {
  return { createdAt, id: ownId(id) };
}

/** After the last one of the page before, and in any case before `until`. */
function beginningOf({ cursor, until }: RequestQuery, tenant: string): ScanPlace | null {
  const newest = until === undefined ? null : { createdAt: Date.parse(until) - 1, id: null };
  if (cursor === undefined) return newest;
  const { createdAt, id } = placeOfCursor(cursor);
  if (newest !== null && newest.createdAt < createdAt) return newest;
  return { createdAt, id: scopedId(tenant, id) };
}

function facetsOf(filter: RequestFilter): string[] {
  const kinds = Object.keys(FACETS) as (keyof typeof FACETS)[];
  return kinds.flatMap((kind) => {
    const value = filter[kind];
    if (value === undefined || (kind === 'status' && value === COMMON_STATUS)) return [];
    return [facetOf(kind, value)];
  });
}

type Matcher = (row: ListedRequest) => boolean;

/** The filter of members that no set has; null: there are none. */
function matcher({ status, q }: RequestFilter): Matcher | null {
  const words = q === undefined ? [] : q.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);
  if (status !== COMMON_STATUS && words.length === 0) return null;
  return (row) =>
    (status === undefined || row.status === status) && words.every((word) => hasWord(row, word));
}

function hasWord(row: ListedRequest, word: string): boolean {
  const { request_id, text, agent, tools, models, tags, error_types } = row;
  if (request_id.toLowerCase().startsWith(word)) return true;
  const texts = [text, agent ?? '', ...tools, ...models, ...tags, ...error_types];
  return texts.some((each) => each.toLowerCase().includes(word));
}
