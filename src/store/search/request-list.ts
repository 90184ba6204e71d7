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
import { refusedAt } from '../../contract/json/field-error.ts';
import { ALL_TENANTS } from '../../contract/access/tenant-name.ts';
import { ownId, scopedId } from '../../contract/access/tenant.ts';
import type { ChangedRequests } from '../index/changed-requests.ts';
import type { ListBuild } from './list-build.ts';
import { type Found, type FoundOfTenant, merged } from './merged-tenants.ts';
import { type Sorting, sortingOf } from './sorted-page.ts';
import { COMMON_STATUS, facetOf, FACETS, readRow } from './row.ts';
import { LISTED_ERRORS, type ScanPlace, type SearchIndex } from './search-index.ts';

export interface RequestListParts {
  index: Pick<SearchIndex, 'scan' | 'sizes' | 'errorTypes'>;
  storedOf: TenantBytes['of'];
  changes: Pick<ChangedRequests, 'lagMs'>;
  build: Pick<ListBuild, 'state'>;
  /** Tenants that may have requests. */
  tenants(): Promise<readonly string[]>;
  /** Milliseconds since the epoch, by the clock of Redis. */
  now(): Promise<number>;
}

/** `tenant`: `*` for all. */
export type ListRequests = (query: RequestQuery, tenant: string) => Promise<RequestListing>;

/**
 * Bound of a search for words, or of sets with little in common: rows that are checked for one page, and the time for
 * it.
 */
const MOST_SEEN = 20_000;
const LONGEST_SEARCH_MS = 150;
/** Bound of a search over all tenants, milliseconds; each of them is searched once in any case. */
const LONGEST_OF_ALL_MS = 500;
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

export function createRequestList(parts: RequestListParts): ListRequests {
  const { index, changes, build, now, storedOf, tenants } = parts;
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

  async function search(
    query: RequestQuery,
    tenant: string,
    longestMs: number,
    sorted: Sorting | null,
  ): Promise<Found> {
    const turn = turnOf(tenant);
    try {
      return await searchFor(query, tenant, { turn, longestMs, sorted });
    } finally {
      turn.release();
    }
  }

  /** Matching rows, the newest first; returns the place at which the search stopped because of its bounds, null at the end. */
  async function* matching(
    query: RequestQuery,
    tenant: string,
    { turn, longestMs, most }: { turn: Turn; longestMs: number; most: number },
  ): AsyncGenerator<ListedRequest, ListPlace | null> {
    const wanted = matcher(query);
    const facets = facetsOf(query);
    const since = query.since === undefined ? null : Date.parse(query.since);
    let until = performance.now() + longestMs;
    let from = beginningOf(query, tenant);
    let found = 0;
    for (let seen = 0; ; seen += SEEN_AT_ONCE) {
      const mostFound = wanted === null ? Math.min(most - found, SEEN_AT_ONCE) : SEEN_AT_ONCE;
      const scanned = await index.scan(tenant, { facets, from, since, mostSeen: SEEN_AT_ONCE, mostFound });
      for (const { id, stored } of scanned.rows) {
        await nextStep();
        const row = readRow(ownId(id), stored);
        if (row === null || wanted?.(row) === false) continue;
        found += 1;
        yield row;
      }
      from = scanned.next;
      if (scanned.next === null) return null;
      const hasTurn = seen > 0 || (await turn.take());
      if (seen === 0) until = performance.now() + longestMs;
      if (!hasTurn || seen >= MOST_SEEN || performance.now() > until) return placeIn(scanned.next);
    }
  }

  /** `sorted`: gets the rows instead of the page. */
  async function searchFor(
    query: RequestQuery,
    tenant: string,
    { turn, longestMs, sorted }: { turn: Turn; longestMs: number; sorted: Sorting | null },
  ): Promise<Found> {
    const most = sorted === null ? mostOf(query) : Infinity;
    const rows = matching(query, tenant, { turn, longestMs, most });
    const requests: ListedRequest[] = [];
    for (;;) {
      const step = await rows.next();
      if (step.done === true) return { requests, next: step.value, early: step.value !== null };
      if (sorted !== null) sorted.add(query.tenant === ALL_TENANTS ? { ...step.value, tenant } : step.value);
      else if (requests.push(step.value) === most) {
        await rows.return(null);
        return { requests, next: placeOf(step.value), early: false };
      }
    }
  }

  async function searchOne(query: RequestQuery, tenant: string): Promise<Found> {
    const sorted = sortingOf(query, mostOf(query));
    const found = await search(query, tenant, LONGEST_SEARCH_MS, sorted);
    return sorted === null ? found : sorted.page(found.next);
  }

  /** One after the other; what is older than where the first of them stopped is left to the next page. */
  async function searchAll(query: RequestQuery, all: readonly string[]): Promise<Found> {
    const until = performance.now() + LONGEST_OF_ALL_MS;
    const sorted = sortingOf(query, mostOf(query));
    const found: FoundOfTenant[] = [];
    for (const tenant of all) {
      const longestMs = Math.min(LONGEST_SEARCH_MS, Math.max(0, until - performance.now()));
      found.push({ tenant, ...(await search(query, tenant, longestMs, sorted)) });
    }
    if (sorted === null) return merged(found, mostOf(query));
    const stops = found.flatMap(({ next }) => next ?? []);
    return sorted.page(stops.toSorted((left, right) => right.createdAt - left.createdAt)[0] ?? null);
  }

  async function ofAll(query: RequestQuery): Promise<[Found, RequestListing['counts']]> {
    const all = await tenants();
    const [found, counts] = await Promise.all([searchAll(query, all), Promise.all(all.map(countsOf))]);
    return [found, counts.reduce(sumOf)];
  }

  return async (query, tenant) => {
    requireScoreName(query);
    // Before the search: what is complete then is in it.
    const state = await build.state();
    const [[found, counts], lag_ms] = await Promise.all([
      tenant === ALL_TENANTS ? ofAll(query) : Promise.all([searchOne(query, tenant), countsOf(tenant)]),
      lagMs(),
    ]);
    const { requests, next, early, stoppedAt = early ? next : null } = found;
    return {
      requests,
      next: next === null ? null : cursorOf(next),
      searched_until: stoppedAt === null ? null : new Date(stoppedAt.createdAt).toISOString(),
      counts,
      lag_ms,
      incomplete: !state.complete,
    };
  };
}

function placeOf({ created_at, request_id }: ListedRequest): ListPlace {
  return { createdAt: Date.parse(created_at), id: request_id };
}

function placeIn({ createdAt, id }: ListPlace): ListPlace {
  return { createdAt, id: ownId(id) };
}

function mostOf({ limit = DEFAULT_LISTING }: RequestQuery): number {
  return Math.min(limit, LARGEST_LISTING);
}

type Counts = RequestListing['counts'];

function sumOf(left: Counts, right: Counts): Counts {
  const status = Object.fromEntries(
    REQUEST_STATUSES.map((each) => [each, left.status[each] + right.status[each]]),
  ) as Counts['status'];
  const errors = new Map<string, number>();
  for (const { type, requests } of [...left.error_types, ...right.error_types])
    errors.set(type, (errors.get(type) ?? 0) + requests);
  const error_types = [...errors]
    .map(([type, requests]) => ({ type, requests }))
    .toSorted((one, other) => other.requests - one.requests)
    .slice(0, LISTED_ERRORS);
  return { total: left.total + right.total, status, error_types };
}

function requireScoreName({ score, score_min, score_max }: RequestFilter): void {
  if (score !== undefined || (score_min === undefined && score_max === undefined)) return;
  const path = score_min === undefined ? 'score_max' : 'score_min';
  throw refusedAt('invalid_query', [{ path, message: 'needs `score`' }]);
}

/** After the last one of the page before, and in any case before `until`; where it is sorted, each page is chosen of all. */
function beginningOf(
  { cursor, until, sort = 'created', tenant: named }: RequestQuery,
  tenant: string,
): ScanPlace | null {
  const newest = until === undefined ? null : { createdAt: Date.parse(until) - 1, id: null };
  if (cursor === undefined || sort !== 'created') return newest;
  const { createdAt, id } = placeOfCursor(cursor);
  if (newest !== null && newest.createdAt < createdAt) return newest;
  // In a list of all tenants it is scoped already.
  return { createdAt, id: named === ALL_TENANTS ? id : scopedId(tenant, id) };
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
function matcher({ status, q, score, score_min, score_max }: RequestFilter): Matcher | null {
  const words = q === undefined ? [] : q.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);
  const isScored = score_min !== undefined || score_max !== undefined;
  if (status !== COMMON_STATUS && words.length === 0 && !isScored) return null;
  const hasScore = (row: ListedRequest): boolean =>
    row.scores?.some(
      ({ name, value }) =>
        name === score && value >= (score_min ?? -Infinity) && value <= (score_max ?? Infinity),
    ) === true;
  return (row) =>
    (status === undefined || row.status === status) &&
    (!isScored || hasScore(row)) &&
    words.every((word) => hasWord(row, word));
}

function hasWord(row: ListedRequest, word: string): boolean {
  const { request_id, text, agent, tools, models, tags, error_types } = row;
  if (request_id.toLowerCase().startsWith(word)) return true;
  const texts = [text, agent ?? '', ...tools, ...models, ...tags, ...error_types];
  return texts.some((each) => each.toLowerCase().includes(word));
}
