/** An engine in a process of its own that kills itself at one command to Redis: before it is sent, or when it was answered.
 *  It must not stop in any other way: nothing of it is tidied up.
 *  Arguments: Redis URL, prefix, number of the command (0 = never), `before` or `after`. */
import type { Command } from 'ioredis';
import { makeEngine } from './engine.ts';

const [redisUrl = '', prefix = '', number = '0', moment = 'before'] = process.argv.slice(2);
const fatal = Number(number);
const { connection, parts } = makeEngine(redisUrl, prefix);

let sent = 0;
let counting = false;

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('it was killed');
}

/** Commands with which a process looks for work do not belong to a turn. */
const IDLE = new Set(['bzpopmin', 'info', 'client', 'ping']);

const send = connection.sendCommand.bind(connection) as (command: Command, ...rest: unknown[]) => unknown;
connection.sendCommand = ((command: Command, ...rest: unknown[]) => {
  if (!counting || IDLE.has(command.name)) return send(command, ...rest);
  sent += 1;
  console.log(`command ${sent} ${command.name} ${String(command.args[0]).slice(0, 12)}`);
  if (sent === fatal && moment === 'before') die();
  const answer = send(command, ...rest) as Promise<unknown>;
  if (sent === fatal) void Promise.resolve(command.promise).then(die, die);
  return answer;
}) as typeof connection.sendCommand;

for (const part of parts) await part.start();
counting = true;
console.log('ready');
