/** Actions on several requests: previewed first, then done one by one, and counted.
 *  It must never act on a request that was not chosen, nor repeat a call. */
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import type { Redrive } from '../../../src/contract/directive/dead-letter.ts';
import { call, path } from '../../data/api.ts';

/** At once, of one page. */
const AT_ONCE = 4;
/** More are done by the filter, on the command line. */
export const MOST_CHOSEN = 200;

export interface Looked {
  /** Those that are open. */
  readonly open: readonly string[];
  /** Directives that failed and have not been redriven already. */
  readonly failed: readonly { readonly request_id: string; readonly id: string }[];
  /** Requests that could not be read. */
  readonly unread: number;
}

/** The preview: reads each, and changes nothing. */
export async function look(act: 'cancel' | 'redrive', ids: readonly string[]): Promise<Looked> {
  const views = await each(ids, (id) => call<RequestView>('GET', path`/v1/requests/${id}`));
  const read = views.flatMap(({ value }) => (value === null ? [] : [value]));
  const failed = read.flatMap(({ request_id, directives }) =>
    directives.filter(({ status }) => status === 'failed').map(({ id }) => ({ request_id, id })),
  );
  return {
    open: read.filter(({ status }) => status === 'open').map(({ request_id: id }) => id),
    failed: act === 'redrive' ? await redrivableOf(failed) : failed,
    unread: views.length - read.length,
  };
}

/** As many as one call takes. */
const MOST_NAMED = 1_000;

async function redrivableOf(failed: Looked['failed']): Promise<Looked['failed']> {
  const directives = failed.slice(0, MOST_NAMED);
  if (directives.length === 0) return [];
  const { found } = await call<Redrive>('POST', '/v1/dead-letters/redrive', {
    body: { directives, dry_run: true },
  });
  return found ?? directives;
}

export interface Done {
  readonly done: number;
  readonly failed: number;
  /** Error of the first that failed. */
  readonly error: Error | null;
}

export async function cancelAll(ids: readonly string[]): Promise<Done> {
  const ends = await each(ids, (id) => call('POST', path`/v1/requests/${id}/cancel`, { body: {} }));
  const failed = ends.filter(({ error }) => error !== null);
  return { done: ends.length - failed.length, failed: failed.length, error: failed[0]?.error ?? null };
}

export async function redriveAll(directives: Looked['failed']): Promise<Done> {
  const {
    redriven,
    not_found: gone,
    refused,
  } = await call<Redrive>('POST', '/v1/dead-letters/redrive', {
    body: { directives, limit: Math.max(1, directives.length) },
  });
  const [first] = refused;
  const error = first === undefined ? null : new Error(first.detail);
  return { done: redriven.length, failed: gone.length + refused.length, error };
}

type End<T> = { readonly value: T; readonly error: null } | { readonly value: null; readonly error: Error };

async function each<T>(ids: readonly string[], act: (id: string) => Promise<T>): Promise<End<T>[]> {
  const ends: End<T>[] = [];
  const waiting = [...ids];
  const next = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      try {
        ends.push({ value: await act(id), error: null });
      } catch (error) {
        ends.push({ value: null, error: error as Error });
      }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return ends;
}
