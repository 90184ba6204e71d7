// A page of a request's signal log.
// Must never skip a sequence: a page holds every signal between its first and its last.
import * as z from 'zod';
import { anySignalSchema } from './signal.ts';

/** Schema of a page of signals. */
export const signalPageSchema = z.object({
  signals: z.array(anySignalSchema).describe('Signals of this page, in the order of `sequence`.'),
  last_sequence: z.int().min(0).describe('Sequence number of the last signal of this page.'),
  more: z
    .boolean()
    .optional()
    .describe(
      'Whether more signals follow because the page is full, by number or bytes. Continue after `last_sequence`.',
    ),
  closed: z.boolean().describe('Whether the request is closed, so that no signal follows the last page.'),
});

/** Page of the signals of a request. */
export type SignalPage = z.infer<typeof signalPageSchema>;
