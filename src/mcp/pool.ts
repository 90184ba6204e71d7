/** All MCP servers of this process behind one call: names in, outcomes out.
 *  It must never let one server's trouble reach another's calls. */
import type { McpLogger } from './logger.ts';
import type { McpServerOptions } from './server-options.ts';
import type { ToolCallOutcome, ToolCallRequest } from './tool-call.ts';
import type { ToolDefinition } from './tool-definition.ts';

export type ServerStatus = 'connecting' | 'ready' | 'unavailable';

export interface McpPoolOptions {
  readonly servers: readonly McpServerOptions[];
  /** The server's whole list, each time it was read anew and at least once per connection. */
  readonly onTools?: (server: string, tools: readonly ToolDefinition[]) => void;
  readonly onStatus?: (server: string, status: ServerStatus, error?: string) => void;
  readonly logger: McpLogger;
}

export interface McpPool {
  /** Begins to connect to every server and returns at once; a call does not need it. */
  start(): void;
  /** Aborts what is in flight, closes every connection and ends every child process. Safe twice and without start. */
  stop(): Promise<void>;
  call(request: ToolCallRequest): Promise<ToolCallOutcome>;
  /** null: never listed yet, or no such server. Kept while the server is away. */
  tools(server: string): readonly ToolDefinition[] | null;
  describe(server: string, tool: string): ToolDefinition | null;
  /** null: no such server. */
  status(server: string): ServerStatus | null;
  servers(): readonly string[];
}
