// The servers that a tenant adds while the installation runs, on the wire.
// Must never hold a secret: literal values of headers and variables are redacted.
import * as z from 'zod';
import { jsonObjectSchema, serverNameSchema } from '../identifiers.ts';
import {
  definitionChange,
  type OfTenant,
  type RemoveDefinitionQuery,
  replacedVersionSchema,
} from '../runtime-definition.ts';
import { listedServerSchema, toolFaultSchema } from './tool-listing.ts';
import { repeatPolicySchema } from '../directive/work-directive.ts';

const definition = jsonObjectSchema.describe(
  'Entry as in `mcpServers` of adjutant.json, at most 16,384 bytes: `url`, `openapi` or `command`, and its keys that may be set at runtime. `${NAME}` in headers, `bearer_token`, `env` and `args` names an environment variable that the operator allows.',
);

/** Schema of the body that adds or replaces a server. */
export const putServerBodySchema = z.strictObject({ server: definition, version: replacedVersionSchema });

/** Schema of the body of a test. */
export const testServerBodySchema = z.strictObject({
  server: definition.optional().describe('Definition to test. Default: the stored one of this name.'),
});

/** Schema of a server that a tenant has added. */
export const runtimeServerSchema = z.object({
  name: serverNameSchema.describe('Name of the server.'),
  ...definitionChange,
  server: jsonObjectSchema.describe('Definition, with literal values of headers and variables redacted.'),
  sealed: z.boolean().describe('Whether the definition is stored sealed with the key of the environment.'),
  fault: z
    .string()
    .nullable()
    .describe('Reason why workers do not serve it, such as an unset variable; null: none known to the API.'),
  status: listedServerSchema.shape.status
    .nullable()
    .describe('State of the connection; null: no worker has reported it.'),
  error: z.string().optional().describe('Reason why the server is unavailable. Absent: it is not.'),
  tools: z.int().min(0).describe('Number of tools of the server.'),
});

/** Schema of the servers that a tenant has added. */
export const runtimeServerListingSchema = z.object({
  servers: z.array(runtimeServerSchema).describe('Servers in the order of their names.'),
});

/** Schema of the outcome of a test. */
export const serverTestSchema = z.object({
  ok: z.boolean().describe('Whether the server answered and listed its tools.'),
  error: z.string().nullable().describe('Reason why it did not; null: it did.'),
  connect_ms: z.int().min(0).nullable().describe('Time of the handshake, milliseconds; null: none.'),
  tools: z
    .array(
      z.object({
        name: z.string().describe('Full name of the tool, `server.tool`.'),
        description: z.string().describe('First 500 characters of the description; empty: none.'),
        effect: repeatPolicySchema.describe('Repeatability of the tool by its annotations.'),
      }),
    )
    .describe('First 200 tools.'),
  more: z.int().min(0).describe('Number of tools beyond those in `tools`.'),
  faults: z.array(toolFaultSchema).describe('First 100 tools with an invalid description.'),
});

/** Server that a tenant has added. */
export type RuntimeServer = z.infer<typeof runtimeServerSchema>;
/** Servers that a tenant has added. */
export type RuntimeServerListing = z.infer<typeof runtimeServerListingSchema>;
/** Outcome of a test of a server. */
export type ServerTest = z.infer<typeof serverTestSchema>;

type PutServerBody = z.input<typeof putServerBodySchema>;
type TestServerBody = z.input<typeof testServerBodySchema>;

/** Client for servers that are added while the installation runs. Refused with `not_found` where that is off. */
export interface RuntimeServerClient {
  /** Servers of the tenant. */
  list(options?: OfTenant): Promise<RuntimeServerListing>;
  /** Throws `DirectiveRefused` (`not_found`) for an unknown name. */
  get(name: string, options?: OfTenant): Promise<RuntimeServer>;
  /** Adds or replaces a server. The same definition again changes nothing. */
  put(name: string, body: PutServerBody, options?: OfTenant): Promise<RuntimeServer>;
  /** Removes a server at once and returns its last view. Calls in flight end as they would. */
  remove(name: string, query?: RemoveDefinitionQuery, options?: OfTenant): Promise<RuntimeServer>;
  /** Connects once from the API and lists the tools. */
  test(name: string, body?: TestServerBody, options?: OfTenant): Promise<ServerTest>;
}
