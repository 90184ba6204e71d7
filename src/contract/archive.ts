// An archived request on the wire: one JSON object a line, of which `kind` says what it is.
// Must never change the meaning of a line: archives are read for years.
import * as z from 'zod';
import { jsonObjectSchema } from './identifiers.ts';

export const ARCHIVE_FORMAT = 1;

/** The first line, one for each directive, signal and payload that its signal does not hold, and the last line. */
export const archiveLineSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('request'),
    format: z.int(),
    tenant: z.string(),
    request_id: z.string(),
    sequence: z.int(),
    created_at: z.string(),
    closed_at: z.string(),
    /** The run as `GET /v1/requests/{r}` shows it; null: the request has none. */
    run: jsonObjectSchema.nullable(),
  }),
  /** As `GET …/directives/{id}` shows it, without its result, which is a signal. Secrets are hidden by their names. */
  z.object({ kind: z.literal('directive'), directive: jsonObjectSchema }),
  z.object({ kind: z.literal('signal'), signal: jsonObjectSchema }),
  z.object({ kind: z.literal('payload'), directive_id: z.string(), payload: z.unknown() }),
  /** `lines`: those before it. An archive without it is incomplete. */
  z.object({ kind: z.literal('end'), lines: z.int() }),
]);

export type ArchiveLine = z.infer<typeof archiveLineSchema>;

/** What reads archived requests over HTTP. */
export interface ArchiveClient {
  /** The lines of the newest version. Rejects with `not_found` where the archive holds none. */
  lines(requestId: string): AsyncIterable<ArchiveLine>;
}
