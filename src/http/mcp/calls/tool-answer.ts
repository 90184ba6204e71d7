/** How the end of a directive is answered to an MCP client.
 *  It must never pass an error on as a success. */
import { type CallToolResult, type ContentBlock, isSpecType } from '@modelcontextprotocol/server';
import { isObject } from '../../../contract/json/json-object.ts';
import { errorResult, type Result } from '../../../contract/result.ts';
import type { ErrorEnvelope } from '../../../contract/error-envelope.ts';
import { toolContent } from '../../../contract/tool/tool-content.ts';
import type { ListedTool } from '../../../contract/tool/tool-listing.ts';

/** The identity of the work, as `adjutant get` and `adjutant trace` take it. */
export interface Place {
  readonly requestId: string;
  /** Id of the directive; empty: the run of the request. */
  readonly id: string;
}

const DIRECTIVE_META = 'adjutant/directive';

export function answerOf(
  result: Result,
  tool: Pick<ListedTool, 'output_schema'>,
  place: Place,
): CallToolResult {
  const answer = result.ok ? success(result.payload, tool.output_schema) : failure(result.error);
  return { ...answer, _meta: { [DIRECTIVE_META]: idsOf(place) } };
}

/** As the contract writes them; the run of a request has none of its own. */
export function idsOf({ requestId: request_id, id }: Place): { request_id: string; id?: string } {
  return id === '' ? { request_id } : { request_id, id };
}

/** `{"ok": false, "error": {type, message, details, retryable}}`, as every model of the service reads it. */
export function failure(error: ErrorEnvelope): CallToolResult {
  return { isError: true, content: [text(toolContent(errorResult(error)))] };
}

type Members = Readonly<Record<string, unknown>>;

/** The payload is the text alone, the structured content alone, or both with the other content. */
function success(payload: unknown, outputSchema: Members | undefined): CallToolResult {
  const mixed = mixedContent(payload, outputSchema);
  if (mixed !== null) return mixed;
  if (typeof payload === 'string' && !isTypeOf(outputSchema, 'string')) return { content: [text(payload)] };
  const structured = { structuredContent: payload as Record<string, unknown> };
  return { content: [text(JSON.stringify(payload))], ...structured };
}

/** `{content, structured_content?}`, as a result with other items than texts is kept; null: a tool's own structure. */
function mixedContent(payload: unknown, outputSchema: Members | undefined): CallToolResult | null {
  if (!isObject(payload) || !Array.isArray(payload['content'])) return null;
  const { content, structured_content: structured, ...others } = payload;
  // A tool with a schema has structured content: without it, this is that content.
  if (outputSchema !== undefined && structured === undefined) return null;
  const items = content as unknown[];
  if (Object.keys(others).length > 0 || !items.every(isBlock) || items.every(isText)) return null;
  return {
    content: items,
    ...(structured === undefined ? {} : { structuredContent: structured as Record<string, unknown> }),
  };
}

function isBlock(value: unknown): value is ContentBlock {
  return isSpecType.ContentBlock(value);
}

function isText(value: unknown): boolean {
  return isObject(value) && value['type'] === 'text';
}

function isTypeOf(schema: Members | undefined, type: string): boolean {
  return schema !== undefined && schema['type'] === type;
}

function text(value: string): { type: 'text'; text: string } {
  return { type: 'text', text: value };
}
