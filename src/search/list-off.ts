// What stands where the list of requests would, while it is turned off: a refusal of what asks for it, and the removal of what is left.
// Must never answer with a list: an empty one would say that there are no requests.
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { ChangedRequests } from '../journal/changed-requests.ts';
import type { KeySpace } from '../journal/keys.ts';
import { createLoop, type Startable } from '../lifecycle.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { isIndexed, removeIndex } from './index-removal.ts';

const DETAIL =
  'This service keeps no list of requests: `search.enabled` is false in its configuration. Set it to true for every process and start them ' +
  'again; they then build the list from the journal. One request is still shown by its id.';

/** In place of each function of a list. */
export function refuseList(): Promise<never> {
  return Promise.reject(new DirectiveRefused(problem('search_off', { detail: DETAIL })));
}

export interface ListOffParts {
  connection: RedisConnection;
  keys: KeySpace;
  changes: Pick<ChangedRequests, 'dropOverdue'>;
  onError: (error: Error) => void;
}

const LOOK_EVERY_MS = 10_000;
const LONGEST_STOP_MS = 1_000;

/**
 * Removes the list, and again and again what others note for it: programs with a direct client do not know that it is off. What a
 * process that keeps it leaves is removed when that one has ended.
 */
export function createListOff({
  connection,
  keys,
  changes,
  onError,
}: ListOffParts): Startable & { look(): Promise<void> } {
  let isFirst = true;
  let isLeft = false;

  async function look(): Promise<void> {
    const isKept = (await connection.exists(keys.listBuild)) === 1;
    isLeft ||= isKept || (isFirst && (await isIndexed(connection, keys)));
    if (isLeft && (isFirst || !isKept)) isLeft = !(await removeIndex(connection, keys, loop.stopping));
    isFirst = false;
    // Whoever keeps a list again builds it anew.
    await connection.del(keys.listBuild);
    await changes.dropOverdue();
  }

  const loop = createLoop({
    name: 'list of requests, off',
    work: look,
    everyMs: LOOK_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return { ...loop, look };
}
