/** The MCP server over the catalog, on the SDK's low-level server: the high-level one changes descriptors.
 *  It must never hold state of a call: a client may come back to another instance of it. */
import {
  type CallToolResult,
  type McpRequestContext,
  SdkError,
  SdkErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ListedTool } from '../contract/tool-listing.ts';
import { callKeyOf, placeOf } from './call-identity.ts';
import { createProgressRelay } from './progress-relay.ts';
import { invalidParams, unknownTool } from './refusal.ts';
import { type CallParts, submitCall, type ToolCall, type Waiter } from './tool-call.ts';
import { wholeName } from './tool-names.ts';
import type { ToolSource } from './tool-source.ts';

export interface ToolServerOptions extends CallParts {
  readonly tools: ToolSource;
  readonly version: string;
  /** How often a client that asked for progress hears of a silent call, milliseconds. */
  readonly heartbeatMs: number;
}

type CallParams = { name: string; arguments?: Record<string, unknown> | undefined };

/** A client may keep a list for so long. */
const LIST_TTL_MS = 5_000;

const INSTRUCTIONS =
  'Each call is a durable directive: it is executed although the connection, this server or a worker dies. ' +
  'Tools that must not be repeated run at most once; an error of the type outcome_unknown says that it is not known ' +
  'whether one ran: check before you call it again.';

export function createToolServer(options: ToolServerOptions, _context: McpRequestContext): Server {
  const { tools, version } = options;
  const server = new Server(
    { name: 'adjutant', version },
    {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
    },
  );
  server.setRequestHandler('tools/list', async () => ({ tools: [...(await tools.current()).descriptors] }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = await tools.find(params.name);
    if (tool === undefined) throw unknownTool(params.name);
    const result = await call(options, tool, params, context);
    return server.projectCallToolResult(result, tool.output_schema);
  });
  return server;
}

async function call(
  options: ToolServerOptions,
  tool: ListedTool,
  params: CallParams,
  context: ServerContext,
): Promise<CallToolResult> {
  const request = requestOf(tool, params, context);
  using relay = relayFor(context, options.heartbeatMs);
  const waiter: Waiter = { signal: context.mcpReq.signal, isLost, patienceMs: Infinity, relay };
  const result = await submitCall(options, request, waiter);
  if (result === null) throw new Error('A wait without an end has ended.');
  return result;
}

function requestOf(tool: ListedTool, { arguments: args = {} }: CallParams, context: ServerContext): ToolCall {
  const { _meta: meta } = context.mcpReq;
  const key = callKeyOf(meta);
  if (key.kind === 'invalid') throw invalidParams(key.reason);
  const place = placeOf(wholeName(tool), key.kind === 'key' ? key.key : null);
  const traceparent = meta?.['traceparent'] ?? context.http?.req?.headers.get('traceparent');
  return { place, tool, arguments: args, traceparent };
}

function relayFor({ mcpReq }: ServerContext, heartbeatMs: number) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return null;
  return createProgressRelay(
    async (progress) =>
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
    heartbeatMs,
  );
}

/** The SDK aborts with this when a connection ends, and with the client's reason when it cancels. */
function isLost(reason: unknown): boolean {
  return reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
}
