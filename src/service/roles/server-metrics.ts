// The metrics of the MCP servers of a process: those that are connected, and the reconnections of each. Counts a server
// once, however many stores use it.
import type { McpPool } from '../../mcp/pool.ts';
import type { Reading } from '../../platform/telemetry/metrics/gauges.ts';
import type { Meters } from '../../platform/telemetry/metrics/meters.ts';
import { LABEL } from '../../platform/telemetry/metrics/metric.ts';

/** 1 for each server that is connected, 0 for the others. */
export function connectedServers(servers: Pick<McpPool, 'servers' | 'status'>): Reading[] {
  return servers.servers().map((server) => ({
    metric: 'mcpConnected',
    value: servers.status(server) === 'ready' ? 1 : 0,
    labels: { [LABEL.server]: server },
  }));
}

export function countReconnections(
  servers: Pick<McpPool, 'subscribe'>,
  meters: Pick<Meters, 'reconnected'>,
): void {
  const seen = new Set<string>();
  servers.subscribe({
    onStatus(server, status) {
      if (status !== 'ready') return;
      if (seen.has(server)) meters.reconnected(server);
      seen.add(server);
    },
  });
}
