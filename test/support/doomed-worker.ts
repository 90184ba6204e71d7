/** A part of the service whose process kills itself with SIGKILL when Redis has executed its nth command that holds a text.
 *  It must not end in any other way. Argument: `Doomed` as JSON. */
import { Redis } from 'ioredis';
import type { Command } from 'ioredis';
import { startService } from './running-service.ts';

export interface Doomed {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly config: Record<string, unknown>;
  /** The text in a command, whose name and arguments are separated by spaces. Default: that of a decision of a rule. */
  readonly mark?: string;
  /** The number of the command that it dies of, from 1. Default: 1. */
  readonly at?: number;
  /** Default: a worker. */
  readonly roles?: { readonly api?: boolean; readonly worker?: boolean };
  readonly port?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

const doomed = JSON.parse(process.argv[2] ?? '{}') as Doomed;
const { mark = '"askMs"', at = 1, roles = { worker: true }, port = 0, environment = {} } = doomed;
let seen = 0;

const send = Redis.prototype.sendCommand as (this: Redis, command: Command, ...rest: unknown[]) => unknown;
Redis.prototype.sendCommand = function (this: Redis, command: Command, ...rest: unknown[]) {
  const answer = send.call(this, command, ...rest);
  if (![command.name, ...command.args].map(String).join(' ').includes(mark)) return answer;
  seen += 1;
  const own = seen;
  // A script that Redis does not know yet was not executed: it is sent again, whole.
  const refused = (): void => void (seen -= 1);
  void command.promise.then(() => own === at && process.kill(process.pid, 'SIGKILL'), refused);
  return answer;
} as typeof Redis.prototype.sendCommand;

const { redisUrl, prefix, config } = doomed;
await startService({ redisUrl, prefix, roles, port, config, environment });
console.log('ready');
