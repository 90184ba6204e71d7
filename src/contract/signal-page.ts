// A page of a request's signal log.
// Must never skip a sequence: a page holds every signal between its first and its last.
import * as z from 'zod';
import { anySignalSchema } from './signal.ts';

export const signalPageSchema = z.object({
  signals: z.array(anySignalSchema),
  last_sequence: z.int().min(0),
  /** More signals follow: the page is full, by signals or by bytes. Go on after `last_sequence`. */
  more: z.boolean().optional(),
  closed: z.boolean(),
});

export type SignalPage = z.infer<typeof signalPageSchema>;
