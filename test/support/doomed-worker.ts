/** A worker whose process kills itself with SIGKILL when Redis has executed its nth command that holds a decision of a rule.
 *  It must not end in any other way. Arguments: Redis URL, prefix, the number of the command, adjutant.json as JSON. */
import { Redis } from 'ioredis';
import type { Command } from 'ioredis';
import { startService } from './running-service.ts';

const [redisUrl = '', prefix = '', at = '1', config = '{}'] = process.argv.slice(2);
const DECISION = '"askMs"';
let seen = 0;

const send = Redis.prototype.sendCommand as (this: Redis, command: Command, ...rest: unknown[]) => unknown;
Redis.prototype.sendCommand = function (this: Redis, command: Command, ...rest: unknown[]) {
  const answer = send.call(this, command, ...rest);
  if (!command.args.some((each) => String(each).includes(DECISION))) return answer;
  seen += 1;
  const own = seen;
  // A script that Redis does not know yet was not executed: it is sent again, whole.
  const refused = (): void => void (seen -= 1);
  void command.promise.then(() => own === Number(at) && process.kill(process.pid, 'SIGKILL'), refused);
  return answer;
} as typeof Redis.prototype.sendCommand;

await startService({
  redisUrl,
  prefix,
  roles: { worker: true },
  config: JSON.parse(config) as Record<string, unknown>,
});
console.log('ready');
