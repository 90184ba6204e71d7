// Whether the service keeps the list of requests.
// Must never say how the list is kept.
import * as z from 'zod';
import { notes } from './notes.ts';

const searchSchema = z.strictObject({
  enabled: z.boolean().default(true).register(notes, {
    description:
      'Whether the list of requests is kept: `GET /v1/requests`, bulk actions, the inbox of approvals and those pages of the console. The same for every process.',
    special: '`false` = nothing is noted for it, and what was there is removed',
  }),
});

export const searchSections = {
  search: searchSchema.prefault({}).register(notes, {
    description: 'The [list of requests](search.md).',
  }),
};
