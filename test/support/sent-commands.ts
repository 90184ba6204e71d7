/** What a Redis is sent, as its MONITOR says.
 *  It must not use the client's own monitor: answers that come in one packet with the first lines end it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** `see` is called with each line, as `<time> [<db> <address>] "HSET" "<key>" …`. Resolves when Redis has begun. Returns what ends it. */
export async function watchCommands(redisUrl: string, see: (line: string) => void): Promise<() => void> {
  const { hostname, port } = new URL(redisUrl);
  const socket = connect(Number(port), hostname);
  // Redis may be stopped first.
  socket.on('error', () => {});
  const lines = createInterface({ input: socket });
  const begun = once(lines, 'line');
  lines.on('line', (line) => see(line.slice(1)));
  socket.write('MONITOR\r\n');
  await begun;
  return () => socket.destroy();
}
