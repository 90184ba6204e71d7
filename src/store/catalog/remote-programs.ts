/** The programs that execute remote directive types, as their calls show them. The keys are written by the scripts of
 *  `features/remote-types`: it must never decide about work. */
import type { KeySpace } from '../keys.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';

/** Programs of one remote type. */
export interface RemotePrograms {
  /** Whether one has asked for work of late, or holds some. */
  readonly isServed: boolean;
  /** When one asked last, milliseconds since the epoch, by the clock of Redis; null: not in the last day. */
  readonly askedAt: number | null;
  /** Work that waits for one. */
  readonly waiting: number;
}

/** Reads the programs of a type; null: it is not remote, or none has asked in the last day and none is needed. */
export type ReadPrograms = (type: string) => Promise<RemotePrograms | null>;

export function createRemotePrograms(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'remoteType'>,
): ReadPrograms {
  return async (type) => {
    const key = keys.remoteType(type);
    const [served, asked, waiting] = await Promise.all([
      connection.exists(`${key}served`),
      connection.get(`${key}asked`),
      connection.llen(`${key}queue`),
    ]);
    if (served === 0 && asked === null && waiting === 0) return null;
    return { isServed: served === 1, askedAt: asked === null ? null : Number(asked), waiting };
  };
}
