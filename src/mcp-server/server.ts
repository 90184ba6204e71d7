/** The MCP server over the catalog, on the SDK's low-level server: the high-level one changes descriptors.
 *  It must never hold state of a call: a client may come back to another instance of it. */
import {
  type CallToolResult,
  inputRequired,
  type InputRequiredResult,
  type McpRequestContext,
  SdkError,
  SdkErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ListedTool } from '../contract/tool-listing.ts';
import { callKeyOf, placeOf } from './call-identity.ts';
import type { HeldCall, Seals } from './held-call.ts';
import { createProgressRelay } from './progress-relay.ts';
import { invalidParams, unknownTool } from './refusal.ts';
import { createdTask, knowsTasks, serveTasks, TASK_AFTER_MS, TASKS_EXTENSION } from './tasks.ts';
import { type CallParts, rejoinCall, submitCall, type ToolCall, type Waiter } from './tool-call.ts';
import { wholeName } from './tool-names.ts';
import type { ToolSource } from './tool-source.ts';

export interface ToolServerOptions extends CallParts {
  readonly tools: ToolSource;
  readonly seals: Seals;
  readonly version: string;
  readonly heartbeatMs: number;
  readonly holdMs: number;
}

type CallParams = { name: string; arguments?: Record<string, unknown> | undefined };

/** A client may keep a list for so long. */
const LIST_TTL_MS = 5_000;

const INSTRUCTIONS =
  'Each call is a durable directive: it is executed although the connection, this server or a worker dies. ' +
  'Tools that must not be repeated run at most once; an error of the type outcome_unknown says that it is not known ' +
  'whether one ran: check before you call it again.';

export function createToolServer(options: ToolServerOptions, { era }: McpRequestContext): Server {
  const { tools, seals, version } = options;
  const isModern = era === 'modern';
  const server = new Server(
    { name: 'adjutant', version },
    {
      capabilities: { tools: {}, ...(isModern ? { extensions: { [TASKS_EXTENSION]: {} } } : {}) },
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
      requestState: { verify: seals.open },
    },
  );
  server.setRequestHandler('tools/list', async () => ({ tools: [...(await tools.current()).descriptors] }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = await tools.find(params.name);
    if (tool === undefined) throw unknownTool(params.name);
    const result = await call(options, tool, params, { context, isModern });
    return isAnswer(result) ? server.projectCallToolResult(result, tool.output_schema) : result;
  });
  if (isModern) serveTasks(server, options);
  return server;
}

function isAnswer(result: CallToolResult | InputRequiredResult): result is CallToolResult {
  return 'content' in result;
}

interface Caller {
  readonly context: ServerContext;
  /** It can come back for its answer. */
  readonly isModern: boolean;
}

async function call(
  options: ToolServerOptions,
  tool: ListedTool,
  params: CallParams,
  { context, isModern }: Caller,
): Promise<CallToolResult | InputRequiredResult> {
  const wantsTask = isModern && knowsTasks(context);
  const held = heldCall(tool, context);
  const request = held ?? requestOf(tool, params, context);
  using relay = relayFor(context, options.heartbeatMs);
  const patienceMs = wantsTask ? TASK_AFTER_MS : isModern ? options.holdMs : Infinity;
  const waiter: Waiter = { signal: context.mcpReq.signal, isLost, patienceMs, relay };
  const result =
    'place' in request
      ? await submitCall(options, request, waiter)
      : await rejoinCall(options, request, tool, waiter);
  if (result !== null) return result;
  const { requestId, id } = 'place' in request ? request.place : request;
  const open: HeldCall = { requestId, id, tool: wholeName(tool) };
  if (wantsTask) return (await createdTask(options, open)) as InputRequiredResult;
  return inputRequired({ requestState: await options.seals.seal(open) });
}

/** What the client has brought back; null: the call is new. */
function heldCall(tool: ListedTool, { mcpReq }: ServerContext): HeldCall | null {
  const held = mcpReq.requestState<HeldCall>();
  if (held === undefined) return null;
  if (held.tool !== wholeName(tool))
    throw invalidParams('The requestState belongs to a call of another tool');
  return held;
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
