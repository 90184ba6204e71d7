/** The commands that clients send to Redis while a load runs: the round trips behind an operation.
 *  It must leave out what scripts do inside Redis, and must not watch while something is timed. */
import { Redis } from 'ioredis';

export interface CommandCount {
  /** The command; for a script also its hash and its first key, with ids left out. */
  readonly command: string;
  readonly count: number;
}

/** Ids of requests and jobs in a key. */
const IDS = /[0-9a-f]{8}-[0-9a-f-]{27,}/g;

/** Counts while `work` runs, most frequent first. */
export async function countCommands(
  redisPort: number,
  work: () => Promise<unknown>,
): Promise<CommandCount[]> {
  const counts = new Map<string, number>();
  const redis = new Redis(redisPort, '127.0.0.1');
  const monitor = await redis.monitor();
  monitor.on('monitor', (_time: string, words: string[], source: string) => {
    if (source === 'lua') return;
    const command = commandOf(words);
    counts.set(command, (counts.get(command) ?? 0) + 1);
  });
  await work();
  // What the server has sent by now has arrived before the answer to this.
  await redis.ping();
  monitor.disconnect();
  redis.disconnect();
  return [...counts]
    .map(([command, count]) => ({ command, count }))
    .toSorted((one, other) => other.count - one.count);
}

function commandOf([name = '', ...args]: readonly string[]): string {
  const command = name.toLowerCase();
  if (!command.startsWith('eval')) return command;
  const [script = '', , firstKey = ''] = args;
  return `${command} ${script.slice(0, 6)} on ${firstKey.replaceAll(IDS, '…')}`;
}
