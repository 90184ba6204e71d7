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
import { rejoinRun, submitRun } from './agent-call.ts';
import { callKeyOf, placeOf } from './call-identity.ts';
import type { HeldCall, Seals } from './held-call.ts';
import type { Offer } from './offered-tools.ts';
import { createProgressRelay } from './progress-relay.ts';
import { invalidParams, unknownTool } from './refusal.ts';
import { createdTask, knowsTasks, serveTasks, TASK_AFTER_MS, TASKS_EXTENSION } from './tasks.ts';
import { type CallParts, rejoinCall, submitCall, type Waiter } from './tool-call.ts';
import type { Place } from './tool-answer.ts';
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
    const offer = await tools.find(params.name);
    if (offer === undefined) throw unknownTool(params.name);
    const result = await call(options, offer, params, { context, isModern });
    const schema = offer.server === null ? undefined : offer.output_schema;
    return isAnswer(result) ? server.projectCallToolResult(result, schema) : result;
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
  offer: Offer,
  params: CallParams,
  { context, isModern }: Caller,
): Promise<CallToolResult | InputRequiredResult> {
  const wantsTask = isModern && knowsTasks(context);
  const held = heldCall(offer, context);
  using relay = relayFor(context, options.heartbeatMs);
  const patienceMs = wantsTask ? TASK_AFTER_MS : isModern ? options.holdMs : Infinity;
  const waiter: Waiter = { signal: context.mcpReq.signal, isLost, patienceMs, relay };
  const place = held ?? newPlace(offer, context);
  const result = await (held === null
    ? submit(options, offer, { place, params, traceparent: traceparentOf(context) }, waiter)
    : rejoin(options, offer, held, waiter));
  if (result !== null) return result;
  const open: HeldCall = { requestId: place.requestId, id: place.id, tool: wholeName(offer) };
  if (wantsTask) return (await createdTask(options, open)) as InputRequiredResult;
  return inputRequired({ requestState: await options.seals.seal(open) });
}

interface NewCall {
  readonly place: Place;
  readonly params: CallParams;
  readonly traceparent: unknown;
}

async function submit(
  parts: CallParts,
  offer: Offer,
  { place, params: { arguments: args = {} }, traceparent }: NewCall,
  waiter: Waiter,
): Promise<CallToolResult | null> {
  if (offer.server !== null)
    return submitCall(parts, { place, tool: offer, arguments: args, traceparent }, waiter);
  const { query, ...others } = args;
  if (typeof query !== 'string' || query === '' || Object.keys(others).length > 0)
    throw invalidParams('The only argument is query, a text that is not empty');
  return submitRun(parts, { place, agent: offer.tool, query, traceparent }, waiter);
}

async function rejoin(parts: CallParts, offer: Offer, held: HeldCall, waiter: Waiter) {
  return offer.server === null ? rejoinRun(parts, held, waiter) : rejoinCall(parts, held, offer, waiter);
}

/** What the client has brought back; null: the call is new. */
function heldCall(offer: Offer, { mcpReq }: ServerContext): HeldCall | null {
  const held = mcpReq.requestState<HeldCall>();
  if (held === undefined) return null;
  if (held.tool !== wholeName(offer))
    throw invalidParams('The requestState belongs to a call of another tool');
  return held;
}

function newPlace(offer: Offer, { mcpReq }: ServerContext): Place {
  const key = callKeyOf(mcpReq._meta);
  if (key.kind === 'invalid') throw invalidParams(key.reason);
  const isAgent = offer.server === null;
  return placeOf({ tool: wholeName(offer), key: key.kind === 'key' ? key.key : null, isAgent });
}

/** What the client says of its trace, else the request that carries the call. */
function traceparentOf({ mcpReq, http }: ServerContext): unknown {
  return mcpReq._meta?.['traceparent'] ?? http?.req?.headers.get('traceparent');
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
