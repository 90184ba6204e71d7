// The reads of a `tool_exec` at an MCP server besides its tools: resources, prompts, completions. Never reads what the
// operator hides from MCP clients of the service.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import { type ServerRead, serverReadOf } from '../../contract/tool/server-read.ts';
import type { ToolExec } from '../../contract/directive/work-directive.ts';
import type { McpPool } from '../../mcp/pool.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Execution, ExecutionContext } from './definition.ts';
import { DEADLINE_GRACE_MS, type OwnTools, type ToolPlace } from './tool-exec.ts';

export interface ServerReadsOptions {
  readonly pool: Pick<McpPool, 'read'>;
  readonly isExposed: (server: string, method: ServerRead, params: ToolExec['arguments']) => boolean;
}

/** An error that the server itself answers is a result: the read has ended, and needs no examination. */
export function serverReads({ pool, isExposed }: ServerReadsOptions): OwnTools {
  return (place) => {
    const method = serverReadOf(place.tool);
    if (method === null) return null;
    return async (directive, context) =>
      isExposed(place.server, method, directive.arguments)
        ? read(pool, method, directive, place, context)
        : hidden(place, method);
  };
}

async function read(
  pool: Pick<McpPool, 'read'>,
  method: ServerRead,
  directive: ToolExec,
  { server, timeoutMs }: ToolPlace,
  { signal, remainingMs, traceparent }: ExecutionContext,
): Promise<Execution> {
  const outcome = await pool.read({
    server,
    method,
    params: directive.arguments,
    signal,
    timeoutMs: directive.timeout_ms ?? timeoutMs,
    maxTotalMs: remainingMs + DEADLINE_GRACE_MS,
    traceparent,
  });
  const span = { [ATTRIBUTE.mcpMethod]: method, [ATTRIBUTE.mcpServer]: server };
  if (outcome.kind === 'answer') return { result: okResult(outcome.answer), span };
  const unreached = !outcome.sent && outcome.error.type === 'network';
  return { result: errorResult(outcome.error), unreached, span };
}

function hidden({ server, tool }: ToolPlace, method: ServerRead): Execution {
  const kind = method.startsWith('prompts/') ? 'prompts' : 'resources';
  const message = `The MCP server "${server}" passes on no ${kind}`;
  const details = { server, tool, fix: `set "expose_${kind}" of this server to true` };
  return { result: errorResult(errorEnvelope('unknown_tool', message, details)) };
}
