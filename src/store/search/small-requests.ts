// Reads what a list shows of many small requests in one call: those with one directive that has not failed and asks nothing.
// Must never read a large one, nor decide about one of another sort: those are read one by one.
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { directiveContent } from './directive-content.ts';
import type { RequestFacts } from './row.ts';

/** In the order of the ids; null: not of this sort, or gone. */
export type ReadSmall = (requestIds: readonly string[]) => Promise<(RequestFacts | null)[]>;

/** Number at once: Redis is blocked for about a millisecond. */
const READ_AT_ONCE = 100;
/** Maximum size of a request; Redis and this process hold this many at once. */
const MOST_BYTES = 8_192;
/** Number of values of one request, as search-read.lua answers. */
const VALUES = 8;

export function createSmallReader(connection: RedisConnection, keys: KeySpace): ReadSmall {
  // Requests are in many slots.
  if (connection.isCluster) return async (requestIds) => requestIds.map(() => null);
  const run = prepareScripts(connection);

  async function read(requestIds: readonly string[]): Promise<(RequestFacts | null)[]> {
    const hashes = requestIds.flatMap((requestId) => keys.request(requestId).slice(0, 2));
    const reply = await run('search-read', hashes, [MOST_BYTES]);
    const now = Date.now();
    return requestIds.map((requestId, at) =>
      factsOf(requestId, reply.slice(at * VALUES, (at + 1) * VALUES).map(String), now),
    );
  }

  return async (requestIds) => {
    const facts: (RequestFacts | null)[] = [];
    for (let first = 0; first < requestIds.length; first += READ_AT_ONCE)
      facts.push(...(await read(requestIds.slice(first, first + READ_AT_ONCE))));
    return facts;
  };
}

function factsOf(requestId: string, values: readonly string[], now: number): RequestFacts | null {
  const [createdAt, open, sequence, closedAt, expiresMs, type = '', envelope = '', bytes] = values;
  if (!createdAt) return null;
  const { tool, model, tags, text } = directiveContent(envelope);
  const stillOpen = Number(open);
  return {
    requestId,
    // As of what is read one by one: signals and directives.
    version: Number(sequence) + 1,
    createdAt: Number(createdAt),
    closedAt: closedAt ? Number(closedAt) : null,
    expiresAt: stillOpen > 0 || Number(expiresMs) < 0 ? null : now + Number(expiresMs),
    open: stillOpen,
    directives: 1,
    bytes: Number(bytes),
    types: [type],
    tools: tool === null ? [] : [tool],
    models: model === null ? [] : [model],
    errorTypes: [],
    tags,
    text,
    waitingFor: [],
    anyFailed: false,
    anyCancelled: false,
    run: null,
  };
}
