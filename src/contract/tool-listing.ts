// The tools of all servers as a reader sees them.
// Must never show how a server is reached: commands, URLs, headers.
import * as z from 'zod';
import { instantSchema, jsonObjectSchema, serverNameSchema } from './identifiers.ts';
import { serverOffersSchema } from './server-read.ts';
import { repeatPolicySchema } from './work-directive.ts';

export const listedToolSchema = z.object({
  name: z.string(),
  server: serverNameSchema,
  tool: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  input_schema: jsonObjectSchema,
  output_schema: jsonObjectSchema.optional(),
  annotations: jsonObjectSchema.optional(),
  effect: repeatPolicySchema,
  /** false: not offered by the MCP server of the service; absent = offered. */
  exposed: z.literal(false).optional(),
  /** The control directives that are trusted in its results; absent = none. */
  directives: z.union([z.literal('all'), z.array(z.string())]).optional(),
});

export const toolFaultSchema = z.object({
  /** Its name, or its place in the list: `#3`. */
  tool: z.string(),
  /** Follows the name of the tool in a sentence. */
  message: z.string(),
});

/** Who the service is at a server that asks for a login, and until when. */
export const serverLoginSchema = z.object({
  issuer: z.string(),
  client_id: z.string(),
  /** As the authorization server names it; absent: it does not say. */
  account: z.string().optional(),
  /** Separated by spaces; absent: it does not say. */
  scope: z.string().optional(),
  /** Absent: the token has no end. */
  expires_at: instantSchema.optional(),
  /** true: renewed then without anybody; false: somebody must log in again. */
  renewable: z.boolean(),
});

export const listedServerSchema = z.object({
  name: serverNameSchema,
  status: z.enum(['connecting', 'ready', 'unavailable']),
  error: z.string().optional(),
  tools: z.int().min(0),
  /** Tools with a wrong description: some are left out, of others a member is not used. Absent = none. */
  faults: z.array(toolFaultSchema).optional(),
  /** Absent: it asks for none, or nobody has logged in. */
  login: serverLoginSchema.optional(),
  /** The model that its tools may ask, as the configuration names it; absent = none. */
  sampling: z.string().optional(),
  /** What it says to the model that uses it; absent = nothing. */
  instructions: z.string().optional(),
  /** What MCP clients of the service may see of it besides tools; absent = nothing. */
  offers: serverOffersSchema.optional(),
  updated_at: instantSchema,
  /** false: no worker serves it now, so its tools are only remembered. Absent: one does. */
  served: z.literal(false).optional(),
});

export const toolListingSchema = z.object({
  tools: z.array(listedToolSchema),
  servers: z.array(listedServerSchema),
});

export type ServerLogin = z.infer<typeof serverLoginSchema>;
export type ToolFault = z.infer<typeof toolFaultSchema>;
export type ListedTool = z.infer<typeof listedToolSchema>;
export type ListedServer = z.infer<typeof listedServerSchema>;
export type ToolListing = z.infer<typeof toolListingSchema>;
