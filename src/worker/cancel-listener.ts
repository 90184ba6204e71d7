// Hears cancellations announced by any process and stops the attempts this one makes.
// Must never be the only way: a lost announcement is found by the next heartbeat.
import type { KeySpace } from '../journal/keys.ts';
import type { Startable } from '../lifecycle.ts';
import type { RedisConnection } from '../redis.ts';
import type { RunningAttempts } from './running-attempts.ts';

/** Uses `connection` for its subscription only. */
export function createCancelListener(
  connection: RedisConnection,
  keys: KeySpace,
  running: RunningAttempts,
): Startable {
  connection.on('message', (channel: string, message: string) => {
    if (channel !== keys.cancellations) return;
    const slash = message.indexOf('/');
    running.stop(message.slice(0, slash), message.slice(slash + 1), 'cancelled');
  });
  return {
    name: 'cancel listener',
    async start() {
      await connection.subscribe(keys.cancellations);
    },
    async stop() {
      if (connection.status === 'ready') await connection.unsubscribe(keys.cancellations);
    },
  };
}
