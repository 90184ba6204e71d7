/** A TCP proxy on 127.0.0.1 that cuts its connections on purpose.
 *  It must never look into, or change, what passes. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly url: string;
  /** How many connections were cut so far. */
  readonly cuts: number;
  stop(): Promise<void>;
}

export interface CuttingProxyOptions {
  readonly target: string;
  /** Each connection is cut after this many bytes of answer. Default: never. */
  readonly cutAfterBytes?: () => number;
}

export async function startCuttingProxy({
  target,
  cutAfterBytes = () => Infinity,
}: CuttingProxyOptions): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    let left = cutAfterBytes();
    upstream.on('data', (chunk: Buffer) => {
      client.write(chunk.subarray(0, Math.min(chunk.length, left)));
      left -= chunk.length;
      if (left > 0) return;
      cuts += 1;
      client.end(() => client.destroy());
      upstream.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A listening socket has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    get cuts() {
      return cuts;
    },
    stop: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
