/** Engines in one process, each of which stops for good at one of its commands to Redis; the test kills the process.
 *  It must never end an engine in any other way: nothing is tidied up, and a stopped one sends nothing more.
 *  Arguments: Redis URL, the dooms as JSON. */
import type { Command } from 'ioredis';
import { makeEngine } from './engine.ts';

export interface Doom {
  prefix: string;
  /** The number of the command. */
  at: number;
  /** `before` it is sent, or `after` Redis has executed it and before the engine knows. */
  moment: 'before' | 'after';
}

/** What changes nothing in Redis is not counted: a death there leaves what a death at the next change leaves. */
const READS = new Set(['bzpopmin', 'info', 'client', 'ping', 'hgetall', 'time']);
const NEVER = new Promise<never>(() => {});

async function startDoomed(redisUrl: string, { prefix, at, moment }: Doom): Promise<void> {
  const { connection, parts } = makeEngine(redisUrl, prefix);
  for (const part of parts) await part.start();
  const send = connection.sendCommand.bind(connection) as (...sent: unknown[]) => unknown;
  let sent = 0;
  let stopped = false;
  const stop = (): void => {
    stopped = true;
    console.log(`stopped ${prefix}`);
  };
  connection.sendCommand = ((command: Command, ...rest: unknown[]) => {
    if (!stopped && !READS.has(command.name)) sent += 1;
    if (!stopped && sent === at && moment === 'before') stop();
    if (stopped) return NEVER;
    const answer = send(command, ...rest);
    if (sent === at && !READS.has(command.name)) void Promise.resolve(command.promise).then(stop, stop);
    return answer;
  }) as typeof connection.sendCommand;
}

const [redisUrl = '', dooms = '[]'] = process.argv.slice(2);
await Promise.all((JSON.parse(dooms) as Doom[]).map((doom) => startDoomed(redisUrl, doom)));
console.log('ready');
