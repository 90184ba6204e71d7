/** Holds what one test sends to Redis at one of its steps, so that Redis can be killed just there.
 *  It must never change what is sent, but for sending it twice as a connection does whose answer was lost. */
import { Command } from 'ioredis';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';

export interface Step {
  /** The number of the command, of those that name what is watched. */
  at: number;
  /** `before` Redis has it, or `after` Redis has executed it and before anybody knows. */
  moment: 'before' | 'after';
}

export interface Held {
  /** Resolves when the command of the step is held. */
  readonly held: Promise<void>;
  goOn(): void;
  /** From now on nothing more is held. */
  disarm(): void;
}

/** `text` stands in the arguments of the commands that count. */
export function holdAt(connections: readonly RedisConnection[], text: string, { at, moment }: Step): Held {
  const held = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  let sent = 0;
  for (const connection of connections) {
    const send = connection.sendCommand.bind(connection) as (...sent: unknown[]) => unknown;
    const hold = async (command: Command): Promise<void> => {
      if (moment === 'after' && !(await isExecuted(send, command))) sent -= 1;
      else {
        held.resolve();
        await free.promise;
      }
      send(command);
    };
    connection.sendCommand = ((command: Command, ...rest: unknown[]) => {
      const isOwn = changes(command, text) && rest[0] === undefined;
      if (isOwn) sent += 1;
      if (!isOwn || sent !== at) return send(command, ...rest);
      void hold(command);
      return command.promise;
    }) as typeof connection.sendCommand;
  }
  const disarm = (): void => void (sent = Infinity);
  return { held: held.promise, goOn: free.resolve, disarm };
}

const READS = new Set(['hget', 'hmget', 'hgetall']);

function changes({ name, args }: Command, text: string): boolean {
  return !READS.has(name) && args.some((each) => String(each).includes(text));
}

/** false: its script is not there yet, and is sent whole next. */
async function isExecuted(send: (command: Command) => unknown, { name, args }: Command): Promise<boolean> {
  const first = new Command(name, [...args]);
  send(first);
  return first.promise.then(
    () => true,
    () => false,
  );
}
