// The names a caller may give to things: identifiers, server names, tool names, instants.
// Must never admit a character that means something in a Redis key, a URL path or a log line.
import * as z from 'zod';

/** Pattern of identifiers. */
export const ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;
/** Ids of inquiries about lost calls: an operator can ask as long as no submitter, strategy or model takes them. */
export const INQUIRY_PATTERN = /\.reconcile-\d+$/;

/** Schema of an identifier. */
export const identifierSchema = z.string().regex(ID_PATTERN, '1 to 128 characters of A-Z a-z 0-9 . _ : -');

/** Schema of the name of an MCP server. */
export const serverNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 _ -');

/** Name under which MCP clients operate the service: no configured server has it. */
export const OPERATING_SERVER = 'adjutant';

/** Schema of the name of an MCP server that is configured. */
export const configuredServerNameSchema = serverNameSchema.refine(
  (name) => name !== OPERATING_SERVER,
  `is reserved for the server that operates Adjutant (/mcp/${OPERATING_SERVER}); choose another name`,
);

/** `tool` or `server.tool`. MCP allows more than identifiers do, but never control characters. */
export const toolNameSchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,256}$/u, '1 to 256 characters, no control characters');

/** An instant as it appears on the wire: UTC, RFC 3339. */
export const instantSchema = z.iso.datetime('must be an instant of UTC, as in 2027-03-28T01:00:00Z');

/** A JSON object whose members the contract does not check. */
export const jsonObjectSchema = z.record(z.string(), z.unknown());

/** The longest wait that a timer can hold; longer ones fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** Schema of a duration in milliseconds, 0 included. */
export const durationMsSchema = z.int().min(0).max(MAX_TIMER_MS);
/** Schema of a duration of at least one millisecond. */
export const positiveDurationMsSchema = z.int().min(1).max(MAX_TIMER_MS);
