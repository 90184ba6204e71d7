/** The connection between the service under test and its Redis, which a test cuts and restores.
 *  It never reads or changes what passes. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface RedisLink {
  readonly url: string;
  /** Closes every connection, and refuses new ones until `restore`. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

/** `target`: the address of the Redis, with its password. */
export async function openRedisLink(target: string): Promise<RedisLink> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    join(client, connect(Number(port), hostname), sockets);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString(),
    cut,
    restore: () => void (isCut = false),
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

function join(client: Socket, redis: Socket, sockets: Set<Socket>): void {
  for (const [from, to] of [
    [client, redis],
    [redis, client],
  ] as const) {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}
