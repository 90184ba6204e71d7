/** Makes the servers of one endpoint: one for each request or connection, all with the same calls, tools and seals.
 *  It must never let a server hold what another one needs. */
import type { McpRequestContext, Server } from '@modelcontextprotocol/server';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { cancelPlace } from './calls/agent-call.ts';
import { createDepartures, type SharedWaits } from './calls/departures.ts';
import { createSeals } from './calls/held-call.ts';
import type { CallsOfRuns } from './calls/run-call.ts';
import { type CatalogHints, createListWatch, type ListWatch } from './list-watch.ts';
import { createQuestionReader } from './questions/question-reader.ts';
import { createServerLists } from './server-lists.ts';
import { createServerReads } from './server-reads.ts';
import { createToolServer } from './server.ts';
import type { SessionPool } from './sessions.ts';
import type { Patience } from './calls/await-call.ts';
import type { Offer, Scope } from './offered-tools.ts';
import { createToolSearch } from './tool-search/search-tools.ts';
import { createToolSource, type ToolSource } from './tool-source.ts';

export interface ToolServersOptions {
  readonly client: DirectiveClient;
  /** On whose behalf the lists are read that are kept for all callers: the service itself. Default: the client. */
  readonly own?: DirectiveClient;
  /** Who calls now; a session, a task and a held call are for the caller that began them only. Default: all callers are the same. */
  readonly callerOf?: () => string | null;
  /** Where the lists of tools and agents are read. Default: the client. */
  readonly listing?: Pick<DirectiveClient, 'tools' | 'agents'>;
  readonly version: string;
  readonly onError: (error: Error) => void;
  /** The same as in `SealOptions`. */
  readonly sealingKey: () => Promise<string>;
  /** Default: the tools of all servers. */
  readonly scope?: Scope;
  /** How long a call goes on for a client whose connection is lost, milliseconds. Default: 30 000. */
  readonly graceMs?: number;
  /** Where the calls are known that clients wait for elsewhere. Default: a lost client comes back to these servers only. */
  readonly waits?: SharedWaits;
  /**
   * Interval of the signs of life of a silent call for a client that asked for progress, milliseconds. Default: 15 000.
   */
  readonly heartbeatMs?: number;
  /** How long a stateless request is held before its client has to come back, milliseconds. Default: 45 000. */
  readonly holdMs?: number;
  /** Hints of changed catalogs. Default: the list of tools is polled while a client is subscribed to its changes. */
  readonly hints?: CatalogHints | undefined;
  /** The sessions of older clients at all endpoints that share it. Default: a pool of its own. */
  readonly sessions?: SessionPool;
  /** Members of `_meta` in which hosts name a call: keys where the key of this service is absent. Default: none. */
  readonly keysFrom?: readonly string[];
  /** Runs that other programs lead. Default: there are none. */
  readonly runs?: CallsOfRuns;
  /** Whether clients get tools that find and call the others in place of their list. Default: false. */
  readonly isSearch?: boolean;
  /** Whether the caller of now may call a tool. Default: every one. */
  readonly mayCall?: (offer: Offer) => boolean;
  /** How long a host waits for a call of a server, or of an agent (null), before it gets a handle, milliseconds; null: until
   *  the end. Default: until the end, with `isSearch` as long as `holdMs`. */
  readonly patienceOf?: ((server: string | null) => number | null) | undefined;
}

export interface ToolServers {
  readonly tools: ToolSource;
  readonly list: ListWatch;
  create(context: McpRequestContext): Promise<Server>;
  /** Ends every wait; calls go on. */
  stop(): void;
}

const NO_CALLER = (): null => null;
const GRACE_MS = 30_000;
const HEARTBEAT_MS = 15_000;
/** Less than the limits of clients and proxies, most of which are 60 s. */
const HOLD_MS = 45_000;

export function createToolServers(options: ToolServersOptions): ToolServers {
  const { client, version, onError, scope = { kind: 'all' } } = options;
  const { isSearch = false, graceMs = GRACE_MS, heartbeatMs = HEARTBEAT_MS, holdMs = HOLD_MS } = options;
  const stop = new AbortController();
  const departures = createDepartures({
    cancel: async (place, reason) => cancelPlace(client, place, reason),
    shared: options.waits ?? null,
    graceMs,
    stop: stop.signal,
    onError,
  });
  const tools = createToolSource(options.listing ?? client, scope);
  const list = createListWatch({ read: tools.read, hints: options.hints, stop: stop.signal });
  const parts = { client, departures, stop: stop.signal, onError };
  const read = createServerReads(parts);
  const shared = {
    ...parts,
    read,
    lists: createServerLists(createServerReads({ ...parts, client: options.own ?? client })),
    scope,
    tools,
    list,
    keysFrom: options.keysFrom ?? [],
    runs: options.runs ?? null,
    seals: createSeals({ sealingKey: options.sealingKey, callerOf: options.callerOf ?? NO_CALLER, scope }),
    questions: createQuestionReader(client),
    version,
    heartbeatMs,
    holdMs,
    patience: patienceFor(options, holdMs),
    search: isSearch ? createToolSearch({ tools, mayCall: options.mayCall ?? (() => true) }) : null,
  };
  return { tools, list, create: (context) => createToolServer(shared, context), stop: () => stop.abort() };
}

/** Only a model calls through a search, and a handle says to a model how it goes on; a program that calls a tool by its name may not understand one. */
function patienceFor({ isSearch = false, patienceOf }: ToolServersOptions, holdMs: number): Patience | null {
  if (isSearch) return { of: (server) => patienceOf?.(server) ?? holdMs };
  return patienceOf === undefined ? null : { of: patienceOf };
}
