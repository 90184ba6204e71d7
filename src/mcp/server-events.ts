// The reports of the servers of a pool for any number of listeners: their tools and their status. One listener never
// affects a connection, or another listener.
import type { Logger } from '../platform/telemetry/logger.ts';
import type { LoginSummary } from './oauth/login.ts';
import { type DeclaredOffers, NO_OFFERS } from './tools/server-offers.ts';
import type { ServerOutage, ServerStatus } from './server-status.ts';
import type { ToolDefinition, ToolFault } from './tools/tool-definition.ts';

export interface ServerListener {
  /** The server's whole list, after each reading and at least once per connection. */
  readonly onTools?: (
    server: string,
    tools: readonly ToolDefinition[],
    faults: readonly ToolFault[],
    instructions: string,
    offers: DeclaredOffers,
  ) => void;
  /** `outage`: of a server that is `unavailable`. */
  readonly onStatus?: (server: string, status: ServerStatus, error?: string, outage?: ServerOutage) => void;
  /** After each login, renewal and logout that this process notices; null: logged out. */
  readonly onLogin?: (server: string, login: LoginSummary | null) => void;
}

/** Reports the latest list and status of each server at once, then every change. Returns what ends it. */
export type Subscribe = (listener: ServerListener) => () => void;

type Report = (listener: ServerListener) => void;

/** The latest report of each sort. */
interface Latest {
  tools?: Report;
  status?: Report;
  login?: Report;
}

export function createServerEvents() {
  const listeners = new Set<ServerListener>();
  const servers: { latest: Latest; logger: Logger }[] = [];

  const subscribe: Subscribe = (listener) => {
    listeners.add(listener);
    for (const { latest, logger } of servers)
      for (const report of [latest.tools, latest.status, latest.login])
        safely(logger, () => report?.(listener));
    return () => void listeners.delete(listener);
  };

  /** The connection of one server reports through this. */
  function sourceOf(server: string, logger: Logger) {
    const latest: Latest = {};
    servers.push({ latest, logger });
    const publish = (sort: keyof Latest, report: Report): void => {
      latest[sort] = report;
      for (const listener of listeners) safely(logger, () => report(listener));
    };
    return {
      tools: (
        tools: readonly ToolDefinition[],
        faults: readonly ToolFault[],
        instructions: string,
        offers = NO_OFFERS,
      ) => publish('tools', (listener) => listener.onTools?.(server, tools, faults, instructions, offers)),
      status: (status: ServerStatus, error?: string, outage?: ServerOutage) =>
        publish('status', (listener) => listener.onStatus?.(server, status, error, outage)),
      login: (login: LoginSummary | null) =>
        publish('login', (listener) => listener.onLogin?.(server, login)),
    };
  }

  return { subscribe, sourceOf };
}

function safely(logger: Logger, report: () => void): void {
  try {
    report();
  } catch (error) {
    logger.warn({ err: error }, 'MCP pool listener failed');
  }
}
