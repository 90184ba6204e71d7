// One search over requests, tools, agents and schedules, for one box of a page.
// Must never show what the lists of each do not.
import * as z from 'zod';
import { listedAgentSchema } from '../run/agent-listing.ts';
import { listedToolSchema } from '../tool/tool-listing.ts';
import { listedScheduleSchema } from '../schedule/schedule.ts';
import { listedRequestSchema, requestFilterSchema } from './request-listing.ts';
import { instantSchema } from '../identifiers.ts';

/** Entries of each kind in one answer. */
export const MOST_FOUND = 20;
/** Entries of each kind where the query says nothing. */
export const DEFAULT_FOUND = 5;

/** Words and range of a search. */
export const searchFilterSchema = requestFilterSchema.pick({ since: true, until: true }).extend({
  q: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .describe(
      'Words, at most 8, each of which has to occur: in the question, a name, a tag or an error of a request, or at the beginning of its id; in the name or the description of a tool or agent; in the id of a schedule.',
    ),
});

/** Schema of what a search has found. */
export const searchSchema = z.object({
  requests: z.array(listedRequestSchema).describe('Requests, newest first; `GET /v1/requests?q=` has more.'),
  searched_until: instantSchema
    .nullable()
    .describe(
      'Instant (UTC) at which the search of requests stopped because it took too long. null: it did not.',
    ),
  tools: z
    .array(listedToolSchema.pick({ name: true, server: true, title: true, description: true }))
    .describe('Tools, those whose name begins with the words first.'),
  agents: z.array(listedAgentSchema.pick({ name: true, description: true })).describe('Agents, likewise.'),
  schedules: z
    .array(listedScheduleSchema)
    .describe('Schedules, likewise; of more than 1,000 schedules only the first ones are searched.'),
});

/** As the client takes it; the route reads the same from a URL. */
export const searchQuerySchema = searchFilterSchema.extend({
  limit: z
    .int()
    .min(1)
    .max(MOST_FOUND)
    .optional()
    .describe('Maximum number of entries of each kind. Default: 5.'),
});

/** Query of a search. */
export type SearchQuery = z.infer<typeof searchQuerySchema>;
/** Result of a search. */
export type Search = z.infer<typeof searchSchema>;
