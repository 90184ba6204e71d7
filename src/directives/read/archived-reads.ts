// The reads of requests that Redis no longer holds, from their archive. Never asks the archive for a request that Redis holds.
import type { Redrive } from '../../contract/directive/dead-letter.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { DirectiveView, RequestView } from '../../contract/request/request-view.ts';
import type { RequestTrace } from '../../contract/request/request-trace.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { SignalPage } from '../../contract/signal/signal-page.ts';
import { ownId } from '../../contract/access/tenant.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { Journal } from '../../store/request/journal.ts';
import { noPayload } from './not-found.ts';

export type Reads = Pick<DirectiveClient, 'signals' | 'page' | 'request' | 'trace' | 'directive' | 'payload'>;

/** One archived request, as it was when it closed last. */
export interface ArchivedRequest {
  readonly view: RequestView;
  /** Settings of the start of its run, with secrets redacted by their names; null: it has none, or its archive does not hold them. */
  readonly start: Readonly<Record<string, unknown>> | null;
  signalsAfter(sequence: number): Iterable<Signal>;
  page(options: { after?: number; limit?: number }): SignalPage;
  trace(options: { limit?: number | undefined }): RequestTrace;
  /** null: there is no such directive. */
  directive(id: string): DirectiveView | null;
  /** null: it has no payload. */
  payload(id: string): { readonly payload: unknown } | null;
}

/** Takes scoped ids; null: the archive holds no such request. Throws `DirectiveRefused` for one that is too large to be read so. */
export type FindArchived = (requestId: string) => Promise<ArchivedRequest | null>;

/** `reads`, and where Redis does not hold the request those of its archive. All take scoped ids. */
export function withArchived(reads: Reads, journal: Pick<Journal, 'head'>, find: FindArchived): Reads {
  /** null: Redis holds the request, or the archive does not. */
  async function archived(requestId: string): Promise<ArchivedRequest | null> {
    return (await whileAvailable(() => journal.head(requestId))) === null ? find(requestId) : null;
  }

  /** `instead`: called where Redis has no answer, and the archive has the request. */
  async function orArchived<T>(
    requestId: string,
    read: () => Promise<T>,
    instead: (found: ArchivedRequest) => T,
  ): Promise<T> {
    const answer = await read().catch((error: unknown) => {
      if (error instanceof DirectiveRefused && error.problem.code === 'not_found') return error;
      throw error;
    });
    if (answer !== null && !(answer instanceof DirectiveRefused)) return answer;
    const found = await archived(requestId);
    if (found !== null) return instead(found);
    if (answer instanceof DirectiveRefused) throw answer;
    return answer;
  }

  return {
    async *signals(requestId, options = {}) {
      const found = await archived(requestId);
      if (found === null) yield* reads.signals(requestId, options);
      else yield* found.signalsAfter(options.after ?? 0);
    },
    page: async (requestId, options = {}) =>
      orArchived(
        requestId,
        () => reads.page(requestId, options),
        (found) => found.page(options),
      ),
    request: async (requestId) =>
      orArchived(
        requestId,
        () => reads.request(requestId),
        ({ view }) => view,
      ),
    trace: async (requestId, options = {}) =>
      orArchived(
        requestId,
        () => reads.trace(requestId, options),
        (found) => found.trace(options),
      ),
    directive: async (requestId, id) =>
      orArchived(
        requestId,
        () => reads.directive(requestId, id),
        (found) => found.directive(id),
      ),
    payload: async (requestId, id) =>
      orArchived(
        requestId,
        () => reads.payload(requestId, id),
        (found) => {
          const kept = found.payload(id);
          if (kept === null) throw noPayload(requestId, id);
          return kept.payload;
        },
      ),
  };
}

/** The refusal to resume a run that is in the archive alone. */
export function archivedRun(requestId: string): DirectiveRefused {
  const detail = `request "${ownId(requestId)}" is archived, and Redis no longer holds its run: run it again, or fork it at a turn`;
  return new DirectiveRefused(problem('not_resumable', { detail }));
}

/** Requests of one redrive that are searched in the archive. */
const MOST_SOUGHT = 20;

/** The answer to a redrive in which directives of archived requests are refused with the way to repeat them. `request`: takes ids as the tenant knows them. */
export async function refusingArchived(
  { not_found: missing, refused, ...redrive }: Redrive,
  request: Reads['request'],
): Promise<Redrive> {
  const sought = [...new Set(missing.map(({ request_id: id }) => id))].slice(0, MOST_SOUGHT);
  const archived = new Set<string>();
  for (const id of sought) if ((await request(id).catch(() => null))?.archived === true) archived.add(id);
  const isArchived = (from: (typeof missing)[number]): boolean => archived.has(from.request_id);
  const code = 'not_found';
  const refusals = missing.filter(isArchived).map((from) => {
    const detail = `request "${from.request_id}" is archived: \`adjutant again ${from.request_id}\` or POST /v1/requests/${from.request_id}/again repeats it as a new request`;
    return { from, code, detail };
  });
  const not_found = missing.filter((from) => !isArchived(from));
  return { ...redrive, not_found, refused: [...refused, ...refusals] };
}
