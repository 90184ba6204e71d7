/** A worker that says and hears nothing more of a directive from one of its commands to Redis on; the test kills the process.
 *  It must never end in any other way: nothing is tidied up. Arguments: Redis URL, prefix, configuration, dooms as JSON. */
import { type Command, Redis } from 'ioredis';
import { startService } from './running-service.ts';

/** A point at which the worker dies for one request. */
export interface Doom {
  /** Id of the request. */
  readonly request: string;
  /** Number of the command that changes something and names the request, from 1. */
  readonly at: number;
  /** `before` it is sent, or `after` Redis has executed it and before the worker knows. */
  readonly moment: 'before' | 'after';
}

const READS = new Set(['hget', 'hmget', 'hgetall']);
const NEVER = new Promise<never>(() => {});

const [redisUrl = '', prefix = '', config = '{}', given = '[]'] = process.argv.slice(2);
const dooms = (JSON.parse(given) as Doom[]).map((doom) => ({ ...doom, sent: 0, isOver: false }));

type Send = (this: Redis, command: Command, ...rest: unknown[]) => unknown;
const prototype = Redis.prototype as unknown as { sendCommand: Send };
const send = prototype.sendCommand;

prototype.sendCommand = function doomed(this: Redis, command: Command, ...rest: unknown[]): unknown {
  const texts = command.args.map(String);
  const found = dooms.filter(({ request }) => texts.some((text) => text.includes(request)));
  if (found.some(({ isOver }) => isOver)) return NEVER;
  const doom = READS.has(command.name) ? undefined : found[0];
  if (doom === undefined || ++doom.sent !== doom.at) return send.call(this, command, ...rest);
  const end = (): void => {
    doom.isOver = true;
    console.log(`died ${doom.request}`);
  };
  if (doom.moment === 'before') {
    end();
    return NEVER;
  }
  const answer = send.call(this, command, ...rest);
  void Promise.resolve(command.promise).then(end, end);
  return NEVER ?? answer;
};

await startService({
  redisUrl,
  prefix,
  roles: { api: false, engine: false, worker: true },
  config: JSON.parse(config) as Record<string, unknown>,
});
console.log('ready');
