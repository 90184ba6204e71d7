// The tools of all servers as a reader sees them.
// Must never show how a server is reached: commands, URLs, headers.
import * as z from 'zod';
import { instantSchema, jsonObjectSchema, serverNameSchema } from '../identifiers.ts';
import { serverOffersSchema } from './server-read.ts';
import { repeatPolicySchema } from '../directive/work-directive.ts';

/** Schema of a tool in a list. */
export const listedToolSchema = z.object({
  name: z.string().describe('Full name of the tool, `server.tool`.'),
  server: serverNameSchema.describe('Name of the server.'),
  tool: z.string().describe('Name of the tool at its server.'),
  title: z.string().optional().describe('Title of the tool for a person.'),
  description: z.string().optional().describe('Description of the tool for the model.'),
  input_schema: jsonObjectSchema.describe('JSON Schema of the arguments.'),
  output_schema: jsonObjectSchema.optional().describe('JSON Schema of the structured result. Absent: none.'),
  annotations: jsonObjectSchema.optional().describe('MCP annotations of the tool.'),
  effect: repeatPolicySchema.describe('Repeatability of the tool: `read`, `idempotent` or `once`.'),
  approval: z
    .literal(true)
    .optional()
    .describe('Present where each call of the tool waits for the approval of a person. Absent: none does.'),
  exposed: z
    .literal(false)
    .optional()
    .describe('Present where the MCP server of the service does not expose the tool. Absent: exposed.'),
  directives: z
    .union([z.literal('all'), z.array(z.string())])
    .optional()
    .describe('Control directives that are trusted in its results. Absent: none.'),
});

/** Schema of the fault of a tool's description. */
export const toolFaultSchema = z.object({
  tool: z.string().describe('Name of the tool, or its position in the list such as `#3`.'),
  message: z.string().describe('Fault, which follows the name of the tool in a sentence.'),
});

/** Who the service is at a server that asks for a login, and until when. */
export const serverLoginSchema = z.object({
  issuer: z.string().describe('Address of the authorization server.'),
  client_id: z.string().describe('Id of the OAuth client.'),
  account: z.string().optional().describe('Account as the authorization server names it. Absent: unknown.'),
  scope: z.string().optional().describe('Granted scopes, separated by spaces. Absent: unknown.'),
  expires_at: instantSchema.optional().describe('Instant (UTC) at which the token expires. Absent: never.'),
  renewable: z
    .boolean()
    .describe('Whether the token is renewed automatically; false: another login is required then.'),
});

/** Schema of an MCP server in a list. */
export const listedServerSchema = z.object({
  name: serverNameSchema.describe('Name of the server.'),
  status: z.enum(['connecting', 'ready', 'unavailable']).describe('State of the connection.'),
  error: z.string().optional().describe('Reason why the server is unavailable.'),
  tools: z.int().min(0).describe('Number of tools of the server.'),
  faults: z
    .array(toolFaultSchema)
    .optional()
    .describe(
      'Tools with an invalid description, which are left out or used without the invalid member. Absent: none.',
    ),
  login: serverLoginSchema
    .optional()
    .describe('OAuth login at the server. Absent: none required, or not logged in.'),
  sampling: z.string().optional().describe('Model that its tools may call by sampling. Absent: none.'),
  instructions: z.string().optional().describe('Instructions of the server for the model. Absent: none.'),
  offers: serverOffersSchema
    .optional()
    .describe(
      'Capabilities of the server, besides tools, that MCP clients of the service may use. Absent: none.',
    ),
  updated_at: instantSchema.describe('Instant (UTC) of the last update.'),
  served: z
    .literal(false)
    .optional()
    .describe(
      'Present where no worker serves the server, so that its tools are remembered only. Absent: served.',
    ),
});

/** Schema of the list of tools. */
export const toolListingSchema = z.object({
  tools: z.array(listedToolSchema).describe('Tools of all servers.'),
  servers: z.array(listedServerSchema).describe('MCP servers.'),
});

/** OAuth login at an MCP server. */
export type ServerLogin = z.infer<typeof serverLoginSchema>;
/** Fault of a tool's description. */
export type ToolFault = z.infer<typeof toolFaultSchema>;
/** Tool in a list. */
export type ListedTool = z.infer<typeof listedToolSchema>;
/** MCP server in a list. */
export type ListedServer = z.infer<typeof listedServerSchema>;
/** List of tools and their servers. */
export type ToolListing = z.infer<typeof toolListingSchema>;
