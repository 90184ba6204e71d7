/** The MCP server over the catalog, on the SDK's low-level server: the high-level one changes descriptors.
 *  It must never hold state of a call: a client may come back to another instance of it. */
import {
  type CallToolResult,
  type InputRequiredResult,
  type McpRequestContext,
  Server,
} from '@modelcontextprotocol/server';
import { type LegParts, modernLeg, sessionLeg } from './call-leg.ts';
import { type SubjectParts, subjectOf } from './call-subject.ts';
import type { ListWatch } from './list-watch.ts';
import { guarded } from './refusal.ts';
import { serveTasks, TASKS_EXTENSION } from './tasks.ts';

export interface ToolServerOptions extends LegParts, SubjectParts {
  readonly list: ListWatch;
  readonly version: string;
}

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
      const asking = { subject, params, context };
      const result = await (isModern ? modernLeg(options, asking) : sessionLeg(options, server, asking));
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
