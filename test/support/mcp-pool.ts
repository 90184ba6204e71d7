/** A pool under test: its calls with everything filled in, its events awaited instead of polled.
 *  It must never outlive its tests: opening one registers the stop. */
import { onTestFinished } from 'vitest';
import { type McpPool, type McpPoolOptions, type ServerStatus, createMcpPool } from '../../src/mcp/pool.ts';
import type { McpServerOptions } from '../../src/mcp/server-options.ts';
import type { ToolCallOutcome, ToolCallRequest } from '../../src/mcp/tools/tool-call.ts';
import type { ToolDefinition } from '../../src/mcp/tools/tool-definition.ts';
import { shared } from './shared.ts';
import type { Logger } from '../../src/platform/telemetry/logger.ts';

export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export interface PoolUnderTest {
  readonly pool: McpPool;
  readonly logs: readonly LogLine[];
  /** Every status that was reported, oldest first. */
  readonly statuses: readonly { server: string; status: ServerStatus; error?: string }[];
  readonly listings: readonly { server: string; tools: readonly ToolDefinition[] }[];
  /** Calls a tool of the first server; absent members get a value that does not matter. */
  readonly call: (
    tool: string,
    args?: Record<string, unknown>,
    more?: Partial<ToolCallRequest>,
  ) => Promise<ToolCallOutcome>;
  /** Resolves when the condition holds, now or after a later event of the pool. */
  readonly until: (condition: () => boolean) => Promise<void>;
}

export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

export function openPool(...servers: McpServerOptions[]): PoolUnderTest {
  return openPoolWith({}, ...servers);
}

/** One pool, and one process of the server, for all tests of the file or block. */
export function sharedPool(server: McpServerOptions): PoolUnderTest {
  return shared(async () => {
    const opened = createPoolUnderTest({}, [server]);
    return { ...opened, [Symbol.asyncDispose]: async () => opened.pool.stop() };
  });
}

/** With options of the pool that matter to the test. */
export function openPoolWith(
  options: Pick<McpPoolOptions, 'schemas' | 'logins'>,
  ...servers: McpServerOptions[]
): PoolUnderTest {
  const opened = createPoolUnderTest(options, servers);
  onTestFinished(async () => opened.pool.stop());
  return opened;
}

function createPoolUnderTest(
  options: Pick<McpPoolOptions, 'schemas' | 'logins'>,
  servers: readonly McpServerOptions[],
): PoolUnderTest {
  const logs: LogLine[] = [];
  const statuses: { server: string; status: ServerStatus; error?: string }[] = [];
  const listings: { server: string; tools: readonly ToolDefinition[] }[] = [];
  const waiting = new Set<() => void>();
  const happened = (): void => {
    for (const check of waiting) check();
  };
  const log =
    (level: LogLine['level']) =>
    (fields: Record<string, unknown>, message: string): void => {
      logs.push({ level, fields, message });
      happened();
    };
  const pool = createMcpPool({
    ...options,
    servers,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    random: () => 0,
  });
  pool.subscribe({
    onTools: (server, tools) => {
      listings.push({ server, tools });
      happened();
    },
    onStatus: (server, status, error) => {
      statuses.push({ server, status, ...(error === undefined ? {} : { error }) });
      happened();
    },
  });
  return {
    pool,
    logs,
    statuses,
    listings,
    call: async (tool, args = {}, more = {}) =>
      pool.call({ ...request(servers[0]?.name ?? '', tool, args), ...more }),
    until: async (condition) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!condition()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

function request(server: string, tool: string, args: Record<string, unknown>): ToolCallRequest {
  return {
    server,
    tool,
    arguments: args,
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    maxTotalMs: 40_000,
    traceparent: TRACEPARENT,
    idempotencyKey: 'request/directive',
  };
}

/** The text of a result; fails the test when the call did not end in one. */
export function textOf(outcome: ToolCallOutcome): string {
  if (outcome.kind !== 'result') throw new Error(`The call has no result: ${JSON.stringify(outcome)}`);
  const [first] = outcome.result.content ?? [];
  return typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : '';
}

/** The error of a failure; fails the test when the call succeeded. */
export function failureOf(outcome: ToolCallOutcome): Extract<ToolCallOutcome, { kind: 'failed' }> {
  if (outcome.kind !== 'failed') throw new Error(`The call did not fail: ${JSON.stringify(outcome)}`);
  return outcome;
}
