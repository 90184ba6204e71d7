/** Makes the servers of one endpoint: one for each request or connection, all with the same calls, tools and seals.
 *  It must never let a server hold what another one needs. */
import type { McpRequestContext, Server } from '@modelcontextprotocol/server';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { cancelPlace } from './agent-call.ts';
import { createDepartures } from './departures.ts';
import { createSeals } from './held-call.ts';
import type { Scope } from './offered-tools.ts';
import { createToolServer } from './server.ts';
import { createToolSource, type ToolSource } from './tool-source.ts';

export interface ToolServersOptions {
  readonly client: DirectiveClient;
  readonly version: string;
  readonly onError: (error: Error) => void;
  /** As in `createSeals`. */
  readonly sealingKey: () => Promise<string>;
  /** Default: the tools of all servers. */
  readonly scope?: Scope;
  /** How long a call goes on for a client whose connection is lost, milliseconds. Default: 30 000. */
  readonly graceMs?: number;
  /** How often a client that asked for progress hears of a silent call, milliseconds. Default: 15 000. */
  readonly heartbeatMs?: number;
  /** How long a stateless request is held before its client has to come back, milliseconds. Default: 45 000. */
  readonly holdMs?: number;
}

export interface ToolServers {
  readonly tools: ToolSource;
  create(context: McpRequestContext): Server;
  /** Ends every wait; calls go on. */
  stop(): void;
}

const GRACE_MS = 30_000;
const HEARTBEAT_MS = 15_000;
/** Less than the limits of clients and proxies, most of which are 60 s. */
const HOLD_MS = 45_000;

export function createToolServers(options: ToolServersOptions): ToolServers {
  const { client, version, onError, scope = { kind: 'all' } } = options;
  const { graceMs = GRACE_MS, heartbeatMs = HEARTBEAT_MS, holdMs = HOLD_MS } = options;
  const stop = new AbortController();
  const departures = createDepartures({
    cancel: async (place, reason) => cancelPlace(client, place, reason),
    graceMs,
    stop: stop.signal,
    onError,
  });
  const tools = createToolSource(client, scope);
  const shared = {
    client,
    departures,
    stop: stop.signal,
    onError,
    tools,
    seals: createSeals(options.sealingKey),
    version,
    heartbeatMs,
    holdMs,
  };
  return { tools, create: (context) => createToolServer(shared, context), stop: () => stop.abort() };
}
