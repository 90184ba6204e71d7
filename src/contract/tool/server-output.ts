// The newest lines that the program of an MCP server has written to stderr.
// Must never hold a secret that the service knows: lines are redacted where they are read from the program.
import * as z from 'zod';
import { identifierSchema, instantSchema, serverNameSchema } from '../identifiers.ts';

/** Lines that are kept of each server. */
export const OUTPUT_LINES_KEPT = 300;
/** Longest part of a line that is kept, characters. */
export const LONGEST_OUTPUT_LINE = 1_000;
/** How long lines are kept after the newest one, milliseconds. */
export const OUTPUT_KEPT_MS = 86_400_000;

/** Schema of the output of a server. */
export const serverOutputSchema = z.object({
  server: serverNameSchema.describe('Name of the server.'),
  lines: z
    .array(
      z.object({
        at: instantSchema.describe('Instant (UTC) at which the worker read the line.'),
        worker: identifierSchema.describe('Id of the process that runs the program.'),
        text: z.string().describe('Line with known secrets redacted, at most 1,000 characters.'),
        suppressed: z
          .int()
          .min(1)
          .optional()
          .describe('Number of lines before this one that exceeded 20 a second. Absent: none.'),
      }),
    )
    .describe('The newest 300 lines of the last day, oldest first.'),
});

/** Newest output of an MCP server's program. */
export type ServerOutput = z.infer<typeof serverOutputSchema>;
