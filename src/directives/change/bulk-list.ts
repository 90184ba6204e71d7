// Goes through the list of requests, status by status, newest first, from a place in it.
// Must never read a page that nobody asks for.
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { cursorOf, type RequestFilter, type RequestStatus } from '../../contract/request/request-listing.ts';

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

export async function* listedAfter(
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
