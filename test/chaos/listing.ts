/** Compares the list of requests with the requests: one when it is judged, and all of them at the end.
 *  It must never take for a fault that the list is a little behind, nor that a request has expired meanwhile. */
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { readRequest } from './evidence.ts';
import { listDifferences, listViolationsOf } from './list-rules.ts';
import type { System } from './system.ts';
import { read } from './transport.ts';
import type { WireListedRequest, WireListing, WireRequest, WireSignal } from './wire.ts';

/** Longer than what a process holds that died as it wrote rows, and than the outages that follow. */
const LAG_MS = 25_000;
const POLL_MS = 500;

/** What is still wrong with the row of a request after the time that the list may be behind. */
export async function listedWrong(
  { apiUrls }: Pick<System, 'apiUrls'>,
  view: WireRequest,
  signals: readonly WireSignal[],
): Promise<string[]> {
  for (const giveUpAt = Date.now() + LAG_MS; ; await delay(POLL_MS)) {
    const rows = await allListed(apiUrls, `&q=${view.request_id}`);
    const row = rows?.find(({ request_id }) => request_id === view.request_id) ?? null;
    const found = rows === null ? [] : listViolationsOf(view, signals, row);
    if (found.length === 0) return [];
    const known = await readRequest(apiUrls, view.request_id);
    if (known?.view === null) return [];
    if (Date.now() > giveUpAt) return found;
  }
}

/** How the list and a scan of the journal differ for longer than that time: requests expire all the while, each for a moment before its row. */
export async function listDiffers({ apiUrls, prefix, redis }: System): Promise<string[]> {
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  const since = new Map<string, number>();
  try {
    for (const giveUpAt = Date.now() + 2 * LAG_MS; ; await delay(POLL_MS)) {
      const rows = await allListed(apiUrls, '');
      const there = await requestsIn(connection, prefix);
      // Rows of archived requests outlive the journal's.
      const own = (rows ?? []).filter(({ archived }) => archived !== true);
      const listed = own.map(({ request_id }) => request_id);
      const found = new Set(listDifferences(listed, there));
      for (const old of since.keys()) if (!found.has(old)) since.delete(old);
      for (const each of found) since.set(each, since.get(each) ?? Date.now());
      const lasting = [...since].filter(([, at]) => Date.now() - at > LAG_MS).map(([each]) => each);
      if (found.size === 0 || lasting.length > 0 || Date.now() > giveUpAt) return lasting;
    }
  } finally {
    connection.disconnect();
  }
}

/** null: the service does not answer. */
async function allListed(apis: readonly string[], filter: string): Promise<WireListedRequest[] | null> {
  const rows: WireListedRequest[] = [];
  for (let cursor = ''; ;) {
    const page = await read<WireListing>(apis, `/v1/requests?limit=200${filter}${cursor}`);
    if (page === null || page.status !== 200) return null;
    rows.push(...page.body.requests);
    if (page.body.next === null) return rows;
    cursor = `&cursor=${page.body.next}`;
  }
}

async function requestsIn(connection: Redis, prefix: string): Promise<Set<string>> {
  const [before, after] = [`${prefix}:{`, '}:state'];
  const ids = new Set<string>();
  const scan = connection.scanStream({ match: `${before}*${after}`, count: 1_000 });
  for await (const keys of scan as AsyncIterable<string[]>)
    // What was submitted under a key has a part of its id as the tag.
    for (const key of keys)
      ids.add(key.slice(before.length, -after.length).replace(/^(once\.[0-9a-f]+)\}/, '$1'));
  return ids;
}
