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
import { guarded, invalidParams, unknownTool } from './refusal.ts';
import { createdTask, knowsTasks, serveTasks, TASK_AFTER_MS, TASKS_EXTENSION } from './tasks.ts';
import {
  type AcceptedCall,
  type AnsweringTool,
  type CallParts,
  rejoinCall,
  submitCall,
  type Waiter,
} from './tool-call.ts';
import type { ListWatch } from './list-watch.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { DirectiveRefused } from '../contract/problem.ts';
import type { ListedTool } from '../contract/tool-listing.ts';
import type { Place } from './tool-answer.ts';
import { wholeName } from './tool-names.ts';
import type { ToolSource } from './tool-source.ts';

export interface ToolServerOptions extends CallParts {
  readonly tools: ToolSource;
  readonly list: ListWatch;
  /** As in `callKeyOf`. */
  readonly keysFrom: readonly string[];
  readonly seals: Seals;
  readonly version: string;
  readonly heartbeatMs: number;
  readonly holdMs: number;
}

type CallParams = { name: string; arguments?: Record<string, unknown> | undefined };

/** It is repeated with every sign of progress. */
const MAX_TOKEN_CHARACTERS = 255;

/** A client may keep a list for so long. */
const LIST_TTL_MS = 5_000;

export async function createToolServer(
  options: ToolServerOptions,
  { era }: McpRequestContext,
): Promise<Server> {
  const { tools, version, onError } = options;
  const { instructions } = await tools.told();
  const isModern = era === 'modern';
  const server = new Server(
    { name: 'adjutant', version },
    {
      capabilities: {
        tools: { listChanged: true },
        ...(isModern ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
      },
      instructions,
      cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
    },
  );
  server.setRequestHandler('tools/list', async (_, { mcpReq: { signal } }) =>
    guarded({ signal, onError }, async () => ({ tools: [...(await tools.current()).descriptors] })),
  );
  server.setRequestHandler('tools/call', async ({ params }, context) =>
    guarded({ signal: context.mcpReq.signal, onError }, async () => {
      const subject = await subjectOf(options, params, context);
      const result = await call(options, subject, params, { context, isModern });
      if (!isAnswer(result)) return result;
      return server.projectCallToolResult(result, (await subject.tool()).output_schema);
    }),
  );
  if (isModern) serveTasks(server, options);
  return server;
}

/** Of a server that has a connection for itself: its client hears of changes of the list. */
export function announceChanges(server: Server, { list }: Pick<ToolServerOptions, 'list'>): Server {
  const end = list.listen(() => void server.sendToolListChanged().catch(() => {}));
  const { onclose } = server;
  server.onclose = () => {
    end();
    onclose?.();
  };
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

/** Which call a request is about: `offer` null is one that the client comes back to. */
interface Subject extends AcceptedCall {
  readonly name: string;
  readonly offer: Offer | null;
}

async function subjectOf(
  options: ToolServerOptions,
  params: CallParams,
  context: ServerContext,
): Promise<Subject> {
  const { tools, seals, keysFrom } = options;
  const held = await heldCall(seals, context);
  if (held !== null) return heldSubject(tools, params, held);
  const offer = await tools.find(params.name);
  if (offer === undefined) return repeatedSubject(options, params, context);
  return subjectAt(offer, newPlace(offer, context, keysFrom));
}

function subjectAt(offer: Offer, place: Place): Subject {
  return { name: wholeName(offer), offer, place, tool: async () => answering(offer) };
}

/** A call that was accepted is found again by its key while nobody serves its tool. */
async function repeatedSubject(
  { client, tools, keysFrom }: ToolServerOptions,
  { name }: CallParams,
  context: ServerContext,
): Promise<Subject> {
  if (callKeyOf(context.mcpReq._meta, keysFrom).kind === 'none') throw unknownTool(name);
  const offer = tools.among(await rememberedTools(client), name);
  if (offer === undefined) throw unknownTool(name);
  const place = newPlace(offer, context, keysFrom);
  if ((await client.directive(place.requestId, place.id)) === null) throw unknownTool(name);
  return subjectAt(offer, place);
}

async function rememberedTools(client: DirectiveClient): Promise<readonly ListedTool[]> {
  try {
    return (await client.tools({ remembered: true })).tools;
  } catch (error) {
    // An API that is older than `adjutant mcp` knows no such list.
    if (error instanceof DirectiveRefused) return [];
    throw error;
  }
}

/** It goes on while nobody serves its tool, and while the catalog cannot be read. */
async function heldSubject(tools: ToolSource, { name }: CallParams, held: HeldCall): Promise<Subject> {
  const offer = await tools.find(name).catch(() => undefined);
  if (offer !== undefined && wholeName(offer) !== held.tool)
    throw invalidParams('The requestState belongs to a call of another tool');
  const tool = async () => answering(offer ?? (await tools.find(held.tool)));
  return { name: held.tool, offer: null, place: held, tool };
}

function answering(offer: Offer | undefined): AnsweringTool {
  return offer === undefined || offer.server === null ? {} : offer;
}

async function call(
  options: ToolServerOptions,
  subject: Subject,
  params: CallParams,
  { context, isModern }: Caller,
): Promise<CallToolResult | InputRequiredResult> {
  const { place, offer, name } = subject;
  const wantsTask = isModern && knowsTasks(context);
  using relay = relayFor(context, options.heartbeatMs);
  const patienceMs = wantsTask ? TASK_AFTER_MS : isModern ? options.holdMs : Infinity;
  const waiter: Waiter = { signal: context.mcpReq.signal, isLost, patienceMs, relay };
  // What is accepted can be sealed: nothing is submitted whose client could not come back.
  if (isModern) await options.seals.ready();
  const result = await (offer === null
    ? rejoin(options, subject, waiter)
    : submit(options, offer, { place, params, traceparent: traceparentOf(context) }, waiter));
  if (result !== null) return result;
  const open: HeldCall = { requestId: place.requestId, id: place.id, tool: name };
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

async function rejoin(parts: CallParts, call: AcceptedCall, waiter: Waiter) {
  return call.place.id === '' ? rejoinRun(parts, call.place, waiter) : rejoinCall(parts, call, waiter);
}

/** What the client has brought back; null: the call is new. Opened here: the SDK takes an absent key for a wrong seal. */
async function heldCall(seals: Seals, context: ServerContext): Promise<HeldCall | null> {
  const sealed = context.mcpReq.requestState<string>();
  if (sealed === undefined) return null;
  const held = await seals.open(sealed, context);
  if (held === null)
    throw invalidParams('Invalid or expired requestState', { reason: 'invalid_request_state' });
  return held;
}

function newPlace(offer: Offer, { mcpReq }: ServerContext, keysFrom: readonly string[]): Place {
  const key = callKeyOf(mcpReq._meta, keysFrom);
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
  if (String(progressToken).length > MAX_TOKEN_CHARACTERS)
    throw invalidParams(`A progressToken has at most ${MAX_TOKEN_CHARACTERS} characters`);
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
