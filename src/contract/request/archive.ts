// An archived request on the wire: one JSON object a line, of which `kind` says what it is.
// Must never change the meaning of a line: archives are read for years.
import * as z from 'zod';
import { jsonObjectSchema } from '../identifiers.ts';

/** Version of the archive format. */
export const ARCHIVE_FORMAT = 1;

/** The first line, one for each directive, signal and payload that its signal does not hold, and the last line. */
export const archiveLineSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('request').describe('Kind of the line: the head of the archive.'),
    format: z.int().describe('Version of the archive format.'),
    tenant: z.string().describe('Tenant of the request.'),
    request_id: z.string().describe('Id of the request.'),
    sequence: z.int().describe('Sequence number of the last signal.'),
    created_at: z.string().describe('Instant (UTC) of the creation.'),
    closed_at: z.string().describe('Instant (UTC) of the end.'),
    run: jsonObjectSchema
      .nullable()
      .describe('Run as `GET /v1/requests/{request_id}` returns it; null: the request has no run.'),
    start: jsonObjectSchema
      .nullable()
      .optional()
      .describe(
        'Agent, messages, overrides, metadata, flow and origin that the run was started with, with secrets redacted by their names; null: no run, or an encrypted one. Absent: not stored by this version.',
      ),
  }),
  /** As `GET …/directives/{id}` shows it, without its result, which is a signal. Secrets are hidden by their names. */
  z.object({
    kind: z.literal('directive').describe('Kind of the line.'),
    directive: jsonObjectSchema.describe(
      'Directive as the API returns it, without its result, with secrets redacted by their names.',
    ),
  }),
  z.object({
    kind: z.literal('signal').describe('Kind of the line.'),
    signal: jsonObjectSchema.describe('Signal of the request.'),
  }),
  z.object({
    kind: z.literal('payload').describe('Kind of the line.'),
    directive_id: z.string().describe('Id of the directive that the payload belongs to.'),
    payload: z.unknown().describe('Payload that is too large for its signal.'),
  }),
  /** `lines`: those before it. An archive without it is incomplete. */
  z.object({
    kind: z
      .literal('end')
      .describe('Kind of the line: the end of the archive. An archive without it is incomplete.'),
    lines: z.int().describe('Number of lines before this one.'),
  }),
]);

/** Line of an archived request. */
export type ArchiveLine = z.infer<typeof archiveLineSchema>;

/** Client that reads archived requests over HTTP. */
export interface ArchiveClient {
  /** The lines of the newest version. Rejects with `not_found` where the archive holds none. */
  lines(requestId: string): AsyncIterable<ArchiveLine>;
}
