// The MCP servers of a process with those that tenants add: each definition has a pool of its own, which is closed when
// another has replaced it and its last call has ended. Never stops a call because its server was changed.
import type { McpPool } from '../../mcp/pool.ts';
import type { McpServerOptions } from '../../mcp/server-options.ts';
import type { ServerListener } from '../../mcp/server-events.ts';

export interface RuntimePool {
  /** Every server of the process. */
  readonly pool: McpPool;
  /** Connects to a server; the next call of its name has this definition. */
  put(options: McpServerOptions): void;
  drop(name: string): void;
  /** Closes the servers that were put. */
  stop(): Promise<void>;
}

interface Serving {
  readonly pool: McpPool;
  readonly listening: Map<ServerListener, () => void>;
  calls: number;
  isRetired: boolean;
}

/** `open`: a pool of one server. */
export function createRuntimePool(
  base: McpPool,
  open: (options: McpServerOptions) => McpPool,
  onError: (error: Error) => void,
): RuntimePool {
  const servers = new Map<string, Serving>();
  const retired = new Set<Serving>();
  const listeners = new Set<ServerListener>();

  function listen(serving: Serving, listener: ServerListener): void {
    serving.listening.set(listener, serving.pool.subscribe(listener));
  }

  function closeIdle(serving: Serving): void {
    if (!serving.isRetired || serving.calls > 0 || !retired.delete(serving)) return;
    serving.pool.stop().catch(onError);
  }

  function drop(name: string): void {
    const serving = servers.get(name);
    if (serving === undefined) return;
    servers.delete(name);
    for (const end of serving.listening.values()) end();
    serving.isRetired = true;
    retired.add(serving);
    closeIdle(serving);
  }

  /** With the definition of now, which stays open until the call has ended. */
  async function during<T>(name: string, work: (pool: McpPool) => Promise<T>): Promise<T> {
    const serving = servers.get(name);
    if (serving === undefined) return work(base);
    serving.calls += 1;
    try {
      return await work(serving.pool);
    } finally {
      serving.calls -= 1;
      closeIdle(serving);
    }
  }

  const poolOf = (name: string): McpPool => servers.get(name)?.pool ?? base;
  const pool: McpPool = {
    ...base,
    subscribe(listener) {
      listeners.add(listener);
      const end = base.subscribe(listener);
      for (const serving of servers.values()) listen(serving, listener);
      return () => {
        listeners.delete(listener);
        end();
        for (const { listening } of servers.values()) listening.get(listener)?.();
      };
    },
    call: (request) => during(request.server, (each) => each.call(request)),
    read: (request) => during(request.server, (each) => each.read(request)),
    withdraw: (server, ...task) => during(server, (each) => each.withdraw(server, ...task)),
    tools: (server) => poolOf(server).tools(server),
    describe: (server, tool) => poolOf(server).describe(server, tool),
    status: (server) => poolOf(server).status(server),
    servers: () => [...base.servers(), ...servers.keys()],
  };

  return {
    pool,
    drop,
    put(options) {
      drop(options.name);
      const serving = { pool: open(options), listening: new Map(), calls: 0, isRetired: false };
      servers.set(options.name, serving);
      for (const listener of listeners) listen(serving, listener);
      serving.pool.start();
    },
    async stop() {
      const open = [...servers.values(), ...retired];
      await Promise.all(open.map(async (serving) => serving.pool.stop()));
    },
  };
}
