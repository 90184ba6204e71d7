// The reads of an MCP server besides its tools: each is a `tool_exec` of a name with the same meaning on every server.
// Only reads: they are repeated after a failure.
import { ownId } from '../access/tenant.ts';
import * as z from 'zod';
import { jsonObjectSchema } from '../identifiers.ts';

/** Methods of MCP servers that directives may read. */
export const SERVER_READS = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
] as const;

/** Method of an MCP server that a directive may read. */
export type ServerRead = (typeof SERVER_READS)[number];

/** The protocol allows no colon in the name of a tool. */
const PREFIX = 'mcp:';

/** The `tool_name` that reads this of a server. */
export function readName(method: ServerRead): string {
  return `${PREFIX}${method}`;
}

/** null: it is the name of a tool. */
export function serverReadOf(toolName: string): ServerRead | null {
  return SERVER_READS.find((method) => toolName === readName(method)) ?? null;
}

/** The payload of a read: what the server has answered, also where that is an error. */
export const serverAnswerSchema = z.union([
  z.strictObject({ result: jsonObjectSchema.describe('Result of the server.') }),
  z.strictObject({
    error: z
      .strictObject({
        code: z.int().describe('JSON-RPC error code.'),
        message: z.string().describe('Explanation of the error.'),
        data: z.unknown().describe('Further data of the error.'),
      })
      .describe('Error of the server.'),
  }),
]);

/** Answer of an MCP server to a read. */
export type ServerAnswer = z.infer<typeof serverAnswerSchema>;

/** Schema of the capabilities of an MCP server, besides tools, that MCP clients of the service may use. */
export const serverOffersSchema = z.object({
  resources: z.literal(true).optional().describe('Present where the server provides resources.'),
  prompts: z.literal(true).optional().describe('Present where the server provides prompts.'),
  completions: z
    .literal(true)
    .optional()
    .describe('Present where the server completes arguments of resources and prompts.'),
  revision: z.string().describe("Revision of the server's lists, which changes with each announced change."),
});

/** Capabilities of an MCP server besides tools. */
export type ServerOffers = z.infer<typeof serverOffersSchema>;

/** Request ids of this form belong to reads whose answer is fetched at once. */
const PASSING = 'mcp.read.';

/** How long such a request stays readable at most, milliseconds. */
export const PASSING_KEPT_MS = 60_000;

/** Id of the request for a read whose answer is fetched at once. */
export function passingRequestId(unique: string): string {
  return `${PASSING}${unique}`;
}

/** Whether a request is a read whose answer is fetched at once. */
export function isPassing(requestId: string): boolean {
  return ownId(requestId).startsWith(PASSING);
}
