// Reads the keys of the requests, and of the facets of the list, on every master in parts, from a place on. Never takes
// a request for a part of the list, whatever its id.
import { type KeySpace, requestOfTag } from '../keys.ts';
import { globOf, mastersOf, type RedisConnection } from '../../platform/redis/connection.ts';

/** Keys that one command checks. */
const KEYS_AT_ONCE = 500;

export interface FoundKeys {
  requestIds: string[];
  facets: { tenant: string; facet: string }[];
  /** null: all masters are looked through. */
  next: string | null;
}

export interface KeyWalk {
  /** Changes with each start of a Redis, each failover and each move of slots: a place from before is worth nothing then. */
  topology: string;
  /** `cursor`: which master, and how far it is looked through. */
  page(cursor: string): Promise<FoundKeys>;
}

export const WALK_BEGIN = '0:0';

export async function keyWalk(connection: RedisConnection, keys: KeySpace): Promise<KeyWalk> {
  const masters = await Promise.all((await mastersOf(connection)).map(named));
  const sorted = masters.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  const pattern = `${globOf(keys.prefix)}:{*}:[fs]*`;
  return {
    topology: sorted.map(({ id, epoch }) => `${id}@${epoch}`).join(' '),
    async page(cursor) {
      const [node, from] = placeOf(cursor);
      const master = sorted[node]?.master;
      if (master === undefined) return { requestIds: [], facets: [], next: null };
      const [to, found] = await master.scan(from, 'MATCH', pattern, 'COUNT', KEYS_AT_ONCE);
      const next = to === '0' ? `${node + 1}:0` : `${node}:${to}`;
      const isEnd = to === '0' && node + 1 >= sorted.length;
      return { ...sortedOut(found, keys.prefix), next: isEnd ? null : next };
    },
  };
}

function placeOf(cursor: string): [node: number, from: string] {
  const [node, from = '0'] = cursor.split(':');
  return [Number(node), from];
}

async function named(master: RedisConnection) {
  const server = await master.info('server');
  const isCluster = server.includes('redis_mode:cluster');
  const cluster = isCluster ? String(await master.call('CLUSTER', 'INFO')) : '';
  return { master, id: fieldOf(server, 'run_id'), epoch: fieldOf(cluster, 'cluster_current_epoch') };
}

function fieldOf(info: string, name: string): string {
  return new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1] ?? '';
}

const OF_LIST = 'search:';
const FACET = 'f:';

/** As `keySpace` names them. */
function sortedOut(found: readonly string[], prefix: string): Pick<FoundKeys, 'requestIds' | 'facets'> {
  const requestIds: string[] = [];
  const facets: FoundKeys['facets'] = [];
  for (const key of found) {
    const rest = key.slice(prefix.length + 2);
    const end = rest.indexOf('}:');
    const [tag, name] = [rest.slice(0, end), rest.slice(end + 2)];
    if (name === 'state') requestIds.push(requestOfTag(tag));
    else if (name.startsWith(FACET) && tag.startsWith(OF_LIST))
      facets.push({ tenant: tag.slice(OF_LIST.length), facet: name.slice(FACET.length) });
  }
  return { requestIds, facets };
}
