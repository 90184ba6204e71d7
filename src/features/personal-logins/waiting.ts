// The calls that wait for a login of their caller, by the place of the login, in Redis.
// Must never lose a call that may still wait: an entry that is left behind only costs a read.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { LoginPlace } from './logins.ts';

export interface WaitingCall {
  readonly requestId: string;
  readonly id: string;
}

export interface WaitingCalls {
  add(place: LoginPlace, call: WaitingCall): Promise<void>;
  /** Some of those of a place, at most `most`; the others follow once these are removed. Default: 100. */
  of(place: LoginPlace, most?: number): Promise<WaitingCall[]>;
  remove(place: LoginPlace, call: WaitingCall): Promise<void>;
  /** Some of the places, others each time, until all were named. */
  somePlaces(): Promise<LoginPlace[]>;
}

const AT_ONCE = 100;

export function createWaitingCalls(connection: RedisConnection, prefix: string): WaitingCalls {
  const places = `${prefix}places`;
  const keyOf = ({ account, server }: LoginPlace): string => `${prefix}waiting:${account}:${server}`;
  const memberOf = ({ requestId, id }: WaitingCall): string => JSON.stringify([requestId, id]);
  const nameOf = ({ account, server }: LoginPlace): string => JSON.stringify([account, server]);
  let cursor = '0';

  return {
    async add(place, call) {
      // In this order: `remove` looks again after it has taken the place away.
      await connection.sadd(keyOf(place), memberOf(call));
      await connection.sadd(places, nameOf(place));
    },
    async of(place, most = AT_ONCE) {
      const members = await connection.srandmember(keyOf(place), most);
      return members.map((member) => {
        const [requestId, id] = JSON.parse(member) as [string, string];
        return { requestId, id };
      });
    },
    async remove(place, call) {
      await connection.srem(keyOf(place), memberOf(call));
      if ((await connection.scard(keyOf(place))) > 0) return;
      await connection.srem(places, nameOf(place));
      if ((await connection.scard(keyOf(place))) > 0) await connection.sadd(places, nameOf(place));
    },
    async somePlaces() {
      const [next, names] = await connection.sscan(places, cursor, 'COUNT', AT_ONCE);
      cursor = next;
      return names.map((name) => {
        const [account, server] = JSON.parse(name) as [string, string];
        return { account, server };
      });
    },
  };
}
