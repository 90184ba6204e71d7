/** A network link: what connects to its port reaches the other one. Stopped by SIGSTOP it is a partition: connections stay
 *  open, nothing passes, and what was sent arrives late when it goes on.
 *  It must never look into, or change, what passes. */
import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

const [port, target] = process.argv.slice(2).map(Number);

createServer((near) => {
  const far = connect(target ?? 0, '127.0.0.1');
  // Either end ends the other.
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const)
    pipeline(from, to, () => to.destroy());
}).listen(port, '127.0.0.1', () => void process.stdout.write('listens on the port\n'));
