// Builds the search index anew, in steps: empties it, finds the requests that there are, and notes them as changed.
// Must never write a row itself: the indexers do, at their pace.
import type { ReindexStep } from '../contract/bulk.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { ChangedRequests } from '../journal/changed-requests.ts';
import type { KeySpace } from '../journal/keys.ts';
import { globOf, mastersOf, type RedisConnection } from '../redis/connection.ts';
import { removeIndex } from './index-removal.ts';

export type Reindex = (cursor: string | undefined) => Promise<ReindexStep>;

/** Keys that one step looks at, and one command. */
const STEP_KEYS = 20_000;
const KEYS_AT_ONCE = 1_000;
/** Who began is gone when it does nothing for so long; between two steps it waits until the rows are written. */
const HELD_MS = 120_000;

export function createReindex(
  connection: RedisConnection,
  keys: KeySpace,
  changes: Pick<ChangedRequests, 'noteAll' | 'size'>,
): Reindex {
  const prefix = globOf(keys.prefix);

  /** Of several that begin at once, one does. */
  async function begin(): Promise<void> {
    if ((await connection.set(keys.searchRebuild, 'x', 'PX', HELD_MS, 'NX')) === null) throw underWay();
    await removeIndex(connection, keys);
  }

  /** For others: nobody else begins before the last step, or before this one was silent for so long. */
  async function hold({ next }: ReindexStep): Promise<void> {
    if (next === null) await connection.del(keys.searchRebuild);
    else await connection.set(keys.searchRebuild, 'x', 'PX', HELD_MS);
  }

  /** `place`: which master, and how far it is looked through. */
  async function step(place: { node: number; cursor: string }): Promise<ReindexStep> {
    const masters = await mastersOf(connection);
    let { node, cursor } = place;
    let noted = 0;
    for (let seen = 0; node < masters.length && seen < STEP_KEYS; seen += KEYS_AT_ONCE) {
      const reply = await masters[node]?.scan(cursor, 'MATCH', `${prefix}:{*}:state`, 'COUNT', KEYS_AT_ONCE);
      const [next = '0', found = []] = reply ?? [];
      const ids = found.map((key) => key.slice(keys.prefix.length + 2, -'}:state'.length));
      await changes.noteAll(ids, 0);
      noted += ids.length;
      cursor = next;
      if (cursor === '0') node += 1;
    }
    const next = node < masters.length ? `${node}:${cursor}` : null;
    return { noted, pending: await changes.size(), next };
  }

  return async (from) => {
    if (from === undefined) await begin();
    const [node = '0', cursor = '0'] = from?.split(':') ?? [];
    const done = await step({ node: Number(node), cursor });
    await hold(done);
    return done;
  };
}

function underWay(): DirectiveRefused {
  const detail = `Somebody builds the list anew at the moment. Wait until that has ended, or ${HELD_MS / 1_000} s after it was broken off.`;
  return new DirectiveRefused(problem('reindex_under_way', { detail, retry_after_ms: HELD_MS }));
}
