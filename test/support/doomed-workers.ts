/** Workers in one process, each of a store of its own, which stop for good at one of their commands to Redis; the test kills the process.
 *  It must never end one in any other way: nothing is tidied up, and a stopped one sends nothing more.
 *  Arguments: Redis URL, configuration and dooms as JSON. */
import { type Command, Redis } from 'ioredis';
import { startService } from './running-service.ts';

/** The point at which a worker stops. */
export interface Doom {
  /** Key prefix of its store. */
  readonly prefix: string;
  /** Id of its one request. */
  readonly request: string;
  /** Number of the command that changes the directive, from 1; 0: it does not stop. */
  readonly at: number;
  /** `before` it is sent, or `after` Redis has executed it and before the worker knows. */
  readonly moment: 'before' | 'after';
}

const READS = new Set(['hget', 'hmget', 'hgetall']);
const NEVER = new Promise<never>(() => {});

type Send = (this: Redis, command: Command, ...rest: unknown[]) => unknown;

function stopAt(dooms: readonly Doom[]): void {
  const states = dooms.map((doom) => ({ ...doom, sent: 0, isOver: false }));
  const prototype = Redis.prototype as unknown as { sendCommand: Send };
  const send = prototype.sendCommand;
  prototype.sendCommand = function doomed(this: Redis, command: Command, ...rest: unknown[]): unknown {
    const texts = command.args.map(String);
    const state = states.find(({ prefix }) => texts.some((text) => text.includes(prefix)));
    if (state?.isOver === true) return NEVER;
    const { request } = state ?? { request: null };
    const isChange =
      request !== null && !READS.has(command.name) && texts.some((text) => text.includes(request));
    if (state === undefined || !isChange || ++state.sent !== state.at)
      return send.call(this, command, ...rest);
    const end = (): void => {
      state.isOver = true;
      console.log(`died ${state.prefix}`);
    };
    if (state.moment === 'before') {
      end();
      return NEVER;
    }
    send.call(this, command, ...rest);
    void Promise.resolve(command.promise).then(end, end);
    return NEVER;
  };
}

const [redisUrl = '', config = '{}', given = '[]'] = process.argv.slice(2);
const dooms = JSON.parse(given) as Doom[];
stopAt(dooms);
const options = { redisUrl, config: JSON.parse(config) as Record<string, unknown> };
const roles = { api: false, engine: false, worker: true };
await Promise.all(dooms.map(async ({ prefix }) => startService({ ...options, roles, prefix })));
console.log('ready');
