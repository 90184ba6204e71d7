// Cancels or redrives what a filter of the list of requests chooses.
// Must never act on more than its limit, nor believe the list: each request, and each dead letter, is looked at again.
import {
  bulkCancelBodySchema,
  type BulkCancellation,
  type BulkRedrive,
  bulkRedriveBodySchema,
} from '../../contract/directive/bulk.ts';
import type { Cancellation } from '../../contract/directive/cancellation.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import { readInput } from '../../contract/json/read-input.ts';
import { ownId } from '../../contract/access/tenant.ts';
import type { DeadEntry } from '../../store/index/dead-letter-index.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type * as z from 'zod';
import { type BulkClocks, bulkClocks } from './bulk-clocks.ts';
import type { DeadLetters } from './dead-letters.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { cursorOf, type RequestFilter, type RequestStatus } from '../../contract/request/request-listing.ts';

export type Bulk = Pick<DirectiveClient, 'cancelAll' | 'redriveAll'>;

const AT_ONCE = 10;
/** As a redrive may name. */
const MOST_NAMED = 1_000;

/** The selected requests, and the cursor of a repeat. */
interface Chosen<T> {
  /** `before`: where a call begins that is to choose it again; null: at the newest. */
  readonly items: readonly { readonly item: T; readonly before: string | null }[];
  readonly more: boolean;
  readonly next: string | null;
}

/** Where a repeat of a call goes on that came as far as position `done`. */
function restAt<T>({ items, more, next }: Chosen<T>, done: number): { more: boolean; next: string | null } {
  const undone = items[done];
  return undone === undefined ? { more, next } : { more: true, next: undone.before };
}

type CancelBody = z.output<typeof bulkCancelBodySchema>;
type RedriveBody = z.output<typeof bulkRedriveBodySchema>;

type Lister = Pick<DirectiveClient, 'requests'>;

/** `seen`: whether a page of the list said that it is incomplete. */
function noting(client: Lister): Lister & { seen: { incomplete: boolean } } {
  const seen = { incomplete: false };
  return {
    seen,
    async requests(query) {
      const page = await client.requests(query);
      seen.incomplete ||= page.incomplete === true;
      return page;
    },
  };
}

async function requestsOf(client: Lister, { filter, cursor, limit }: CancelBody, { isLate }: BulkClocks) {
  const items: { item: string; before: string | null }[] = [];
  const seen = new Set<string>();
  let place = cursor ?? null;
  for await (const { id, after } of listedAfter(client, {
    filter,
    statuses: ['open', 'waiting'],
    cursor,
    isLate,
  })) {
    if (id !== null && !seen.has(id)) {
      if (items.length === limit) return { items, more: true, next: place };
      items.push({ item: id, before: place });
      seen.add(id);
    }
    place = after;
  }
  return { items, more: place !== null, next: place };
}

/** Dead letters of failed requests, unless the filter names a status. */
async function lettersOf(
  client: Lister,
  all: Map<string, DeadEntry[]>,
  given: RedriveBody,
  { isLate }: BulkClocks,
): Promise<Chosen<DeadEntry>> {
  const { filter, cursor, limit, dry_run } = given;
  const items: { item: DeadEntry; before: string | null }[] = [];
  const statuses = [filter.status ?? 'failed'] as const;
  let requests = 0;
  let place = cursor ?? null;
  for await (const { id, after } of listedAfter(client, { filter, statuses, cursor, isLate })) {
    const found = (id === null ? undefined : all.get(id)) ?? [];
    const before = place;
    if (found.length > 0) {
      const room = items.length === 0 ? MOST_NAMED : MOST_NAMED - items.length;
      if (requests === limit || (requests > 0 && found.length > room))
        return { items, more: true, next: place };
      items.push(...found.slice(0, room).map((item) => ({ item, before })));
      // What is redriven is no dead letter any more, so a repeat finds the others of the same request.
      if (found.length > room) return { items, more: true, next: dry_run ? after : before };
      requests += 1;
      if (id !== null) all.delete(id);
    }
    place = after;
  }
  return { items, more: place !== null, next: place };
}

export function createBulk(
  client: Pick<DirectiveClient, 'requests' | 'cancel'>,
  letters: Pick<DeadLetters, 'byRequest' | 'redriveThese' | 'redrivable'>,
  tenant: string,
  clocksOf: (signal: AbortSignal | undefined) => BulkClocks = bulkClocks,
): Bulk {
  async function cancelAll(
    body: unknown,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<BulkCancellation> {
    const clocks = clocksOf(signal);
    const given = readInput(bulkCancelBodySchema, body, 'invalid_body');
    const { dry_run, reason } = given;
    const lister = noting(client);
    const chosen = await requestsOf(lister, given, clocks);
    const { incomplete } = lister.seen;
    const ids = chosen.items.map(({ item }) => item);
    if (dry_run)
      return {
        dry_run,
        requests: ids.map((id) => doneOf(id, null)),
        ...restAt(chosen, ids.length),
        incomplete,
      };
    const options = reason === undefined ? {} : { reason };
    const { done, tried } = await inTime(ids, clocks, async (id) => {
      const cancelled = await orGone(client.cancel(id, undefined, options));
      return cancelled === null ? [] : [doneOf(id, cancelled)];
    });
    return { dry_run, requests: done, ...restAt(chosen, tried), incomplete };
  }

  async function redriveAll(body: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<BulkRedrive> {
    const clocks = clocksOf(signal);
    const given = readInput(bulkRedriveBodySchema, body, 'invalid_body');
    const { dry_run } = given;
    const all = await whileAvailable(async () => letters.byRequest(tenant));
    const lister = noting(client);
    const chosen = await lettersOf(lister, all, given, clocks);
    const { incomplete } = lister.seen;
    const named = chosen.items.map(({ item }) => item);
    const { found: entries, refused } = dry_run
      ? await whileAvailable(async () => letters.redrivable(named))
      : { found: named, refused: [] };
    const found = entries.map(({ requestId, id }) => ({ request_id: ownId(requestId), id }));
    if (dry_run || entries.length === 0 || signal?.aborted === true) {
      const rest = restAt(chosen, named.length);
      return { dry_run, redriven: [], refused, not_found: [], found, ...rest, incomplete };
    }
    const acted = await whileAvailable(async () => letters.redriveThese(entries, clocks.isOver));
    const { done, ...ends } = acted;
    return { dry_run, ...ends, found, ...restAt(chosen, done), incomplete };
  }

  return { cancelAll, redriveAll };
}

function doneOf(id: string, cancelled: Cancellation | null): BulkCancellation['requests'][number] {
  const count = (wanted: string): number =>
    cancelled?.directives.filter(({ status }) => status === wanted).length ?? 0;
  return { request_id: id, cancelled: count('cancelled'), requested: count('requested') };
}

/** A few side by side; `tried`: those before this position. */
async function inTime<T>(
  ids: readonly string[],
  { isOver }: BulkClocks,
  work: (id: string) => Promise<T[]>,
): Promise<{ done: T[]; tried: number }> {
  const done: T[] = [];
  for (let first = 0; first < ids.length; first += AT_ONCE) {
    if (isOver()) return { done, tried: first };
    done.push(...(await Promise.all(ids.slice(first, first + AT_ONCE).map(work))).flat());
  }
  return { done, tried: ids.length };
}

/** null: the request has expired since it was listed. */
async function orGone<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof DirectiveRefused && error.problem.code === 'not_found') return null;
    throw error;
  }
}

const PAGE = 200;
/** As a cursor of the list: behind the oldest request. */
const END = cursorOf({ createdAt: 0, id: '-' });

interface ListedFrom {
  readonly filter: RequestFilter;
  /** Those that are gone through; of a filter that names a status, that one alone. */
  readonly statuses: readonly RequestStatus[];
  readonly cursor: string | undefined;
  /** Asked after each page. */
  readonly isLate: () => boolean;
}

interface Listed {
  /** null: only the place is known. */
  readonly id: string | null;
  /** The cursor that goes on after it; null: the list has ended. */
  readonly after: string | null;
}

async function* listedAfter(
  client: Pick<DirectiveClient, 'requests'>,
  { filter, statuses, cursor, isLate }: ListedFrom,
): AsyncGenerator<Listed> {
  const wanted = statuses.filter((each) => filter.status === undefined || each === filter.status);
  const from = placeIn(cursor, wanted);
  for (const status of wanted.slice(from.position)) {
    let begin: string | undefined = status === wanted[from.position] ? from.cursor : undefined;
    do {
      const { requests, next } = await client.requests({ ...filter, status, limit: PAGE, cursor: begin });
      for (const { request_id: id, created_at, archived } of requests)
        if (archived !== true)
          yield { id, after: `${status}/${cursorOf({ createdAt: Date.parse(created_at), id })}` };
      const isEnd = next === null && status === wanted.at(-1);
      yield { id: null, after: isEnd ? null : `${status}/${next ?? END}` };
      if (isLate()) return;
      begin = next ?? undefined;
    } while (begin !== undefined);
  }
}

function placeIn(cursor: string | undefined, wanted: readonly RequestStatus[]) {
  if (cursor === undefined) return { position: 0, cursor: undefined };
  const slash = cursor.indexOf('/');
  const position = wanted.findIndex((status) => status === cursor.slice(0, slash));
  if (position >= 0) return { position, cursor: cursor.slice(slash + 1) };
  const message = 'must be the `next` of an answer with the same filter';
  throw refusedAt('invalid_body', [{ path: 'cursor', message }]);
}
