/** A TCP proxy on 127.0.0.1 whose connections a test cuts when something is sent, or freezes like a dead host.
 *  It must never change what passes. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface FaultyProxy {
  readonly port: number;
  /** How many connections were cut so far. */
  readonly cuts: number;
  /** Cuts the next `times` connections on which a client sends `text`: the target never sees that. */
  cutAt(text: string, times: number): void;
  /** Forwards nothing more on existing connections, and closes none; new ones pass. Returns how many. */
  holdAll(): number;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startFaultyProxy(targetPort: number): Promise<FaultyProxy> {
  const pairs = new Set<{ client: Socket; upstream: Socket; held: boolean }>();
  const trap = { text: '', times: 0 };
  let cuts = 0;

  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    const pair = { client, upstream, held: false };
    pairs.add(pair);
    const end = (): void => {
      if (pair.held) return;
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', () => {}).on('close', end);
    client.on('data', (chunk) => {
      if (pair.held) return;
      if (trap.times > 0 && chunk.includes(trap.text)) {
        trap.times -= 1;
        cuts += 1;
        return end();
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => pair.held || client.write(chunk));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A listening socket has no port.');

  const stop = async (): Promise<void> => {
    server.close();
    for (const { client, upstream } of pairs) {
      client.destroy();
      upstream.destroy();
    }
    await once(server, 'close');
  };
  return {
    port: address.port,
    get cuts() {
      return cuts;
    },
    cutAt: (text, times) => void Object.assign(trap, { text, times }),
    holdAll() {
      for (const pair of pairs) pair.held = true;
      return pairs.size;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
