/** The MCP server over the catalog, on the SDK's low-level server: the high-level one changes descriptors.
 *  It must never hold state of a call: a client may come back to another instance of it. */
import {
  type CallToolResult,
  type InputRequiredResult,
  type McpRequestContext,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { awaitDescriptor, awaitedCall, isRunning } from './calls/await-call.ts';
import { type LegParts, modernLeg, sessionLeg } from './calls/call-leg.ts';
import { type CallParams, type Subject, type SubjectParts, subjectOf } from './calls/call-subject.ts';
import { noteGiven } from './calls/run-call.ts';
import type { ListKind, ListWatch } from './list-watch.ts';
import { PASSED_CAPABILITIES, type PassThroughOptions, servePassThrough } from './calls/pass-through.ts';
import { guarded, UnknownTool } from './refusal.ts';
import { serveTasks, TASKS_EXTENSION } from './calls/tasks.ts';
import { SEARCH_INSTRUCTIONS, type ToolSearch } from './tool-search/search-tools.ts';

export interface ToolServerOptions extends LegParts, SubjectParts, PassThroughOptions {
  readonly list: ListWatch;
  readonly version: string;
  /** null: clients get the list of all tools. */
  readonly search: ToolSearch | null;
}

const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];
/** A client may keep a list for so long. */
const LIST_HINT = { ttlMs: 5_000, cacheScope: 'private' } as const;

export async function createToolServer(
  options: ToolServerOptions,
  { era }: McpRequestContext,
): Promise<Server> {
  const { tools, version, search } = options;
  const { instructions } = await tools.told();
  const isModern = era === 'modern';
  const server = new Server(
    { name: 'adjutant', version },
    {
      capabilities: {
        tools: { listChanged: true },
        ...PASSED_CAPABILITIES,
        ...(isModern ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
      },
      instructions: search === null ? instructions : `${SEARCH_INSTRUCTIONS}\n\n${instructions}`,
      cacheHints: Object.fromEntries(LISTS.map((list) => [list, LIST_HINT])),
    },
  );
  server.setRequestHandler(
    'tools/list',
    guarded(options, async () => ({ tools: await listedTools(options) })),
  );
  server.setRequestHandler(
    'tools/call',
    guarded(options, async ({ params: asked }, context) => {
      const called = await calledThrough(options, asked, context);
      if ('content' in called) return called;
      const { subject, params } = called;
      const asking = { subject, params, context };
      const result =
        subject.answer ??
        (await (isModern ? modernLeg(options, asking) : sessionLeg(options, server, asking)));
      if (!isAnswer(result)) return result;
      if (!isRunning(result))
        await noteGiven(options, { ...subject.place, tool: subject.held.tool }, context);
      const { output_schema: schema } = hasSchema(options, subject) ? await subject.tool() : {};
      return server.projectCallToolResult(result, schema);
    }),
  );
  servePassThrough(server, options);
  if (isModern) serveTasks(server, options);
  return server;
}

async function listedTools({ tools, search, patience }: ToolServerOptions): Promise<Tool[]> {
  const offered = await tools.current();
  const { descriptors, offers } = offered;
  if (patience === null) return [...(search?.descriptors ?? descriptors)];
  const listed =
    search?.descriptors ??
    descriptors.map((tool) => {
      const { outputSchema: _, ...handled } = tool;
      return patience.of(offers.get(tool.name)?.server ?? null) === null ? tool : handled;
    });
  return [...listed, awaitDescriptor(offered)];
}

/** A handle is not what the schema promises, so a tool that may answer with one has none for its clients. */
function hasSchema({ search, patience }: ToolServerOptions, { held, isAwaited }: Subject): boolean {
  return search === null && isAwaited !== true && (patience?.of(held.server) ?? null) === null;
}

type Called = { readonly subject: Subject; readonly params: CallParams };

/** The call that a request is about, also through `call_tool` and `await_call`; or its answer. */
async function calledThrough(
  options: ToolServerOptions,
  asked: CallParams,
  context: ServerContext,
): Promise<Called | CallToolResult> {
  const { search, patience } = options;
  const awaited = patience === null ? null : await awaitedCall(options, asked, context);
  if (awaited !== null) return 'content' in awaited ? awaited : { subject: awaited, params: asked };
  if (search === null) return { subject: await subjectOf(options, asked, context), params: asked };
  const answer = await search.answer(asked);
  const params = answer ?? search.inner(asked);
  if ('content' in params) return params;
  try {
    if (await search.isHidden(params.name)) throw new UnknownTool(params.name);
    return { subject: await subjectOf(options, params, context), params };
  } catch (error) {
    if (error instanceof UnknownTool) return search.unknown(params.name);
    throw error;
  }
}

/** Subscribes the client of a server with a connection of its own to changes of the list. */
export function announceChanges(server: Server, { list }: Pick<ToolServerOptions, 'list'>): Server {
  const end = list.listen((changed) => void announced(server, changed).catch(() => {}));
  const { onclose } = server;
  server.onclose = () => {
    end();
    onclose?.();
  };
  return server;
}

async function announced(server: Server, changed: ListKind): Promise<void> {
  switch (changed) {
    case 'tools':
      return server.sendToolListChanged();
    case 'resources':
      return server.sendResourceListChanged();
    case 'prompts':
      return server.sendPromptListChanged();
  }
}

function isAnswer(result: CallToolResult | InputRequiredResult): result is CallToolResult {
  return 'content' in result;
}
