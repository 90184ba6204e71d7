// The connections of a process to its Redis: opened by role, watched for outages, closed together.
// Must never be closed before the parts that use them have stopped.
import type { Deadline, Startable } from '../platform/lifecycle.ts';
import {
  closeRedis,
  connectRedis,
  type ConnectionRole,
  type RedisConnection,
} from '../platform/redis/connection.ts';
import type { RedisOutage } from '../platform/redis/outage.ts';

export interface Connections extends Startable {
  open(role: ConnectionRole): RedisConnection;
}

export function createConnections(redisUrl: string, outage: RedisOutage): Connections {
  const opened: RedisConnection[] = [];
  return {
    name: 'connections',
    open(role) {
      const connection = connectRedis(redisUrl, role);
      outage.watch(connection);
      opened.push(connection);
      return connection;
    },
    start: () => Promise.resolve(),
    async stop(by?: Deadline) {
      await Promise.all(opened.map((connection) => closeRedis(connection, by?.leftMs())));
    },
  };
}
