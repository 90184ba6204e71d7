/** Ends at the service since the watch began, polled through the client.
 *  It must never report an end twice, nor one from before, nor the end of a delivery. */
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { RequestView } from '../contract/request/request-view.ts';
import { LARGEST_LISTING, type ListedRequest } from '../contract/request/request-listing.ts';
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import { pause } from '../platform/lifecycle.ts';
import { WEBHOOK_REQUEST_PREFIX } from '../contract/signal/webhook.ts';
import { directiveEndedEvent, runEndedEvent, type EndEvent } from '../contract/signal/webhook-event.ts';

type Reader = Pick<DirectiveClient, 'requests' | 'request' | 'directive'>;

export interface EndWatch {
  /** Earlier ends are not reported. */
  begin(): Promise<void>;
  look(): Promise<EndEvent[]>;
  /** The one request that is watched is closed. */
  isOver(): boolean;
}

/** Ten seconds: a service that always changes is never quite current. */
const MOST_TRIES = 50;
const TRY_EVERY_MS = 200;

/** Span of an unknown trace. */
const NO_SPAN = '0000000000000001';
const NO_TRACE = '0'.repeat(31) + '1';

/** `only`: the id of a request. Default: the newest requests, and those that are open. */
export function createEndWatch(client: Reader, only?: string): EndWatch {
  /** State of each watched request: how the list showed it, and which ends it had. */
  let shown = new Map<string, string>();
  const ended = new Map<string, Set<string>>();
  /** When those were closed that were closed already at the beginning. */
  const closedBefore = new Map<string, string>();
  let over = false;

  async function listed(): Promise<ListedRequest[]> {
    const [newest, open] = await Promise.all([
      client.requests({ limit: LARGEST_LISTING }),
      client.requests({ limit: LARGEST_LISTING, status: 'open' }),
    ]);
    const all = [...newest.requests, ...open.requests];
    return all.filter(({ request_id: id }) => !id.startsWith(WEBHOOK_REQUEST_PREFIX));
  }

  /** The ids of requests that are new, have changed, or are open no more. */
  async function changed(): Promise<string[]> {
    const now = new Map((await listed()).map((request) => [request.request_id, JSON.stringify(request)]));
    const before = shown;
    shown = now;
    const left = [...before.keys()].filter((id) => !now.has(id) && !isClosed(before.get(id)));
    return [...left, ...[...now.keys()].filter((id) => now.get(id) !== before.get(id))];
  }

  /** The views of what has ended and was not known to. */
  async function endsOf(requestId: string, isKnown = false): Promise<EndEvent[]> {
    const view = await client.request(requestId);
    if (view === null) return [];
    if (requestId === only) over = view.status === 'closed';
    const since = closedBefore.get(requestId) ?? '';
    const isNew = (at: string | null | undefined): boolean => Boolean(at) && String(at) > since;
    const known = ended.get(requestId) ?? new Set<string>();
    ended.set(requestId, known);
    const directives = view.directives.filter(({ id, ended_at }) => isNew(ended_at) && !known.has(id));
    const runEnded = isNew(view.run?.ended_at) && !known.has('@run') ? [runEvent(view)] : [];
    for (const { id } of directives) known.add(id);
    if (runEnded.length > 0) known.add('@run');
    if (isKnown) return [];
    const events: EndEvent[] = [];
    for (const { id } of directives) {
      const event = await eventOf(client, view, id);
      if (event !== null) events.push(event);
    }
    return [...events, ...runEnded];
  }

  return {
    isOver: () => over,
    async begin() {
      if (only !== undefined) return;
      await untilCurrent(client);
      const all = await listed();
      shown = new Map(all.map((request) => [request.request_id, JSON.stringify(request)]));
      for (const { request_id: id, closed_at: at } of all)
        if (at === null) await endsOf(id, true);
        else closedBefore.set(id, at);
    },
    async look() {
      const ids = only === undefined ? await changed() : [only];
      const found: EndEvent[] = [];
      for (const id of ids) found.push(...(await endsOf(id)));
      if (only === undefined) forgetOthers(shown, [ended, closedBefore]);
      return found;
    },
  };
}

/** The list shows changes a moment later: earlier ends would seem new. */
async function untilCurrent(client: Reader): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const { lag_ms: lagMs } = await client.requests({ limit: 1 });
    if (lagMs === 0) return;
    await pause(TRY_EVERY_MS);
  }
}

function forgetOthers(shown: ReadonlyMap<string, string>, known: readonly Map<string, unknown>[]): void {
  for (const each of known) for (const id of each.keys()) if (!shown.has(id)) each.delete(id);
}

function isClosed(listedAs: string | undefined): boolean {
  return listedAs !== undefined && (JSON.parse(listedAs) as ListedRequest).closed_at !== null;
}

async function eventOf(client: Reader, request: RequestView, id: string): Promise<EndEvent | null> {
  const view = await client.directive(request.request_id, id);
  if (view === null) return null;
  const { lane, attempts, accepted_at, started_at, status, result, directive } = view;
  return directiveEndedEvent({
    requestId: request.request_id,
    tenant: DEFAULT_TENANT,
    directive,
    id,
    succeeded: status === 'succeeded',
    signal: result?.data,
    lane,
    attempts,
    sequence: result?.sequence ?? 1,
    accepted_at,
    started_at,
    ended_at: view.ended_at ?? accepted_at,
    traceparent: result?.traceparent ?? traceOf(request),
  });
}

function runEvent(view: RequestView): EndEvent {
  const { run, request_id: requestId } = view;
  if (run === undefined) throw new Error('a request without a run has no end of it');
  const ended_at = run.ended_at ?? '';
  return runEndedEvent(run, { requestId, tenant: DEFAULT_TENANT, ended_at, traceparent: traceOf(view) });
}

function traceOf({ trace_id: traceId = NO_TRACE }: RequestView): string {
  return `00-${traceId}-${NO_SPAN}-00`;
}
