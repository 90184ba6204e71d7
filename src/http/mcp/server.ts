/** The MCP server over the catalog, on the SDK's low-level server: the high-level one changes descriptors.
 *  It must never hold state of a call: a client may come back to another instance of it. */
import {
  type CallToolResult,
  type InputRequiredResult,
  type McpRequestContext,
  Server,
} from '@modelcontextprotocol/server';
import { type LegParts, modernLeg, sessionLeg } from './calls/call-leg.ts';
import { type SubjectParts, subjectOf } from './calls/call-subject.ts';
import type { ListKind, ListWatch } from './list-watch.ts';
import { PASSED_CAPABILITIES, type PassThroughOptions, servePassThrough } from './calls/pass-through.ts';
import { guarded } from './refusal.ts';
import { serveTasks, TASKS_EXTENSION } from './calls/tasks.ts';

export interface ToolServerOptions extends LegParts, SubjectParts, PassThroughOptions {
  readonly list: ListWatch;
  readonly version: string;
}

const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];
/** A client may keep a list for so long. */
const LIST_HINT = { ttlMs: 5_000, cacheScope: 'private' } as const;

export async function createToolServer(
  options: ToolServerOptions,
  { era }: McpRequestContext,
): Promise<Server> {
  const { tools, version } = options;
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
      instructions,
      cacheHints: Object.fromEntries(LISTS.map((list) => [list, LIST_HINT])),
    },
  );
  server.setRequestHandler(
    'tools/list',
    guarded(options, async () => ({ tools: [...(await tools.current()).descriptors] })),
  );
  server.setRequestHandler(
    'tools/call',
    guarded(options, async ({ params }, context) => {
      const subject = await subjectOf(options, params, context);
      const asking = { subject, params, context };
      const result =
        subject.answer ??
        (await (isModern ? modernLeg(options, asking) : sessionLeg(options, server, asking)));
      if (!isAnswer(result)) return result;
      return server.projectCallToolResult(result, (await subject.tool()).output_schema);
    }),
  );
  servePassThrough(server, options);
  if (isModern) serveTasks(server, options);
  return server;
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
