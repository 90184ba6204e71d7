/** Preloaded into servers that would listen on every interface: keeps them on 127.0.0.1 and reports the port.
 *  It must never change anything else of the server. */
import { Server } from 'node:net';

const listen = Server.prototype.listen;

Server.prototype.listen = function listenOnLoopback(...args) {
  const callback = args.findLast((argument) => typeof argument === 'function');
  const [first] = args;
  const options = typeof first === 'object' && first !== null ? first : { port: Number(first ?? 0) };
  if (options.path !== undefined) return listen.apply(this, args);
  this.once('listening', () => process.stderr.write(`loopback port ${this.address().port}\n`));
  return listen.call(this, { ...options, host: '127.0.0.1' }, callback);
};
