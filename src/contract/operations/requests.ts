// HTTP operations on requests: their lists, state, signals, archive and cancellation.
import * as z from 'zod';
import { approvalListingSchema, approvalQuerySchema } from '../run/approval-listing.ts';
import { archiveLineSchema } from '../request/archive.ts';
import {
  bulkCancelBodySchema,
  bulkCancellationSchema,
  bulkRedriveBodySchema,
  bulkRedriveSchema,
  reindexBodySchema,
  reindexStepSchema,
} from '../directive/bulk.ts';
import { recordedScoreSchema, scoreBodySchema } from '../case/score.ts';
import { cancelBodySchema, cancellationSchema } from '../directive/cancellation.ts';
import {
  CURSOR_PATTERN,
  DEFAULT_LISTING,
  LARGEST_LISTING,
  requestFilterSchema,
  requestListingSchema,
  requestOrderSchema,
} from '../request/request-listing.ts';
import { requestTimelineSchema } from '../request/request-timeline.ts';
import { DEFAULT_TRACED, MOST_TRACED, requestTraceSchema } from '../request/request-trace.ts';
import { directiveViewSchema, requestViewSchema } from '../request/request-view.ts';
import { signalPageSchema } from '../signal/signal-page.ts';
import { DEFAULT_FOUND, MOST_FOUND, searchFilterSchema, searchSchema } from '../request/search.ts';
import { anyTenantSchema, TENANT_IN_LIST } from '../access/tenant-name.ts';
import { DEFAULT_SERIES, MOST_SERIES, statsFilterSchema, statsSchema } from '../request/stats.ts';
import { decimal, type Operation, pageSize, waitQuery, wholeNumber } from './operation.ts';

const LARGEST_LOG_PAGE = 1_000;
/** Default number of signals of a page. */
export const DEFAULT_LOG_PAGE = 100;

const sequence = wholeNumber(0, Number.MAX_SAFE_INTEGER, 'Only signals after this sequence. Default: 0.');

const traceQuery = z.strictObject({
  limit: wholeNumber(
    1,
    MOST_TRACED,
    `Maximum number of directives in the answer. Default: ${DEFAULT_TRACED}.`,
  ).optional(),
});

const cancellation = {
  tag: 'requests',
  description:
    '`cancelled`: ended by this call; no further attempt starts. `requested`: an attempt runs and is being aborted; ' +
    'its terminal signal reports what really happened. `ended`: it had ended before. Where one directive is named, `result` is the signal that ended it. ' +
    '200 when nothing is running, 202 otherwise.',
  body: ['cancel-body', cancelBodySchema],
  isBodyOptional: true,
  answer: ['cancellation', cancellationSchema],
  statuses: { 200: 'Every directive has ended.', 202: 'Some attempts are being aborted.' },
  problems: [404, 415],
} as const;

/** Operations on requests and their signals. */
export const REQUEST_OPERATIONS = {
  requests: {
    tag: 'requests',
    summary: 'Requests, newest first unless sorted',
    description:
      'All filters that are given have to fit. Changes of the last second may be missing: `lag_ms` says how far behind ' +
      'the list is. A search stops after a while; then `searched_until` says how far it came, and `next` goes on.',
    query: requestFilterSchema.extend({
      cursor: z
        .string()
        .regex(CURSOR_PATTERN, 'must be the `next` of a page')
        .optional()
        .describe('The `next` of the page before.'),
      score_min: decimal('Only with the score `score` of at least this value.').optional(),
      score_max: decimal('Only with the score `score` of at most this value.').optional(),
      sort: requestOrderSchema,
      tenant: anyTenantSchema.optional().describe(TENANT_IN_LIST),
      limit: pageSize(LARGEST_LISTING, DEFAULT_LISTING),
    }),
    answer: ['request-listing', requestListingSchema],
    problems: [409],
  },
  search: {
    tag: 'requests',
    summary: 'Requests, tools, agents and schedules that contain some words',
    description: 'The first entries of each kind. Each list has more, and more filters.',
    query: searchFilterSchema.extend({
      limit: wholeNumber(
        1,
        MOST_FOUND,
        `Maximum number of entries of each kind. Default: ${DEFAULT_FOUND}.`,
      ).optional(),
    }),
    answer: ['search', searchSchema],
    problems: [409],
  },
  stats: {
    tag: 'requests',
    summary: 'Starts, ends, failures, durations, tokens and money over time',
    description:
      'Counted as things happen, also of requests that have expired since. A process adds its counts every 2 s, so the newest ones may be missing, ' +
      'and a process that dies loses those of 2 s at most. An interval keeps 64 names of each kind; further ones are `_other`.',
    query: statsFilterSchema.extend({
      limit: wholeNumber(1, MOST_SERIES, `Maximum number of series. Default: ${DEFAULT_SERIES}.`).optional(),
    }),
    answer: ['stats', statsSchema],
  },
  approvals: {
    tag: 'requests',
    summary: 'Open questions to people: approvals of calls and budgets, questions of tools',
    description:
      'Those of all requests that wait for a person, the newest first. Decide with `POST /v1/requests/{r}/approvals/{call_id}`, answer a ' +
      'question with `POST /v1/requests/{r}/inputs/{input_id}`; `GET /v1/requests/{r}` shows the form that a question asks for.',
    query: approvalQuerySchema,
    answer: ['approval-listing', approvalListingSchema],
    problems: [409],
  },
  request: {
    tag: 'requests',
    summary: 'A request and its directives',
    answer: ['request-view', requestViewSchema],
    problems: [404],
  },
  directive: {
    tag: 'requests',
    summary: 'One directive, its state and its result',
    description:
      'With `wait_ms` the answer comes when the directive has ended, or after that time with its current state.',
    query: waitQuery,
    answer: ['directive-view', directiveViewSchema],
    problems: [404],
  },
  payload: {
    tag: 'requests',
    summary: 'The whole payload of a successful directive',
    description:
      'A result whose payload is marked `truncated` names this place. 404 when it does not exist, or no longer.',
    answer: z.object({ payload: z.unknown().describe('The payload: any JSON.') }),
    problems: [404],
  },
  signals: {
    tag: 'requests',
    summary: 'The signals of a request, as a page or as a live stream',
    description:
      'With `Accept: text/event-stream` the stream holds every signal after `Last-Event-ID` (or `after`), follows the ' +
      'request, and ends with the event `adjutant.end` when the request is closed. A reader that has everything of a ' +
      'closed request gets 204.',
    headers: z.looseObject({
      'last-event-id': sequence
        .optional()
        .describe('The last event a returning reader has; wins over `after`. Default: none.'),
    }),
    query: z.strictObject({
      after: sequence.optional(),
      limit: pageSize(LARGEST_LOG_PAGE, DEFAULT_LOG_PAGE),
    }),
    others: {
      200: {
        description: 'A page of signals, or the stream of them.',
        content: {
          'application/json': { schema: ['signal-page', signalPageSchema] },
          'text/event-stream': {
            schema: z.string().describe('`id`: sequence, `event`: type, `data`: the signal.'),
          },
        },
      },
      204: 'The request is closed and the reader has every signal of it.',
    },
    problems: [404],
  },
  trace: {
    tag: 'requests',
    summary: 'The attempts, waits, turns and children of a request, with their times',
    description: 'From the journal alone, whether traces are recorded or not; without arguments and results.',
    query: traceQuery,
    answer: ['request-trace', requestTraceSchema],
    problems: [404],
  },
  timeline: {
    tag: 'requests',
    summary: 'Attempts and waits of a request as intervals',
    description: `Made of its trace: at most ${MOST_TRACED} directives and 5,000 spans, with a count of the rest. Unknown instants are null.`,
    query: traceQuery,
    answer: ['request-timeline', requestTimelineSchema],
    problems: [404],
  },
  archive: {
    tag: 'requests',
    summary: 'A request as it was archived when it closed, also after it has expired',
    description:
      'One JSON object a line: the request, its directives, signals and payloads, and a line `end`, without which the answer is incomplete. ' +
      'A request that was opened again is archived as it was when it closed last. 404 where `archive` is not configured.',
    others: {
      200: { description: 'Lines of JSON.', content: { 'application/jsonl': { schema: archiveLineSchema } } },
    },
    problems: [404],
  },
  score: {
    tag: 'requests',
    summary: 'Score a request, also after it has closed',
    description:
      'The score is the signal `score.recorded` of the request; a closed request stays closed and expires when it would have. ' +
      'The same `score_id` with the same content is the same score. A request holds at most 1,000.',
    body: ['score-body', scoreBodySchema],
    answer: ['recorded-score', recordedScoreSchema],
    statuses: { 200: 'The score is durable.' },
    problems: [404, 409, 413, 415],
  },
  cancel: { ...cancellation, summary: 'Cancel every open directive of a request' },
  cancelDirective: { ...cancellation, summary: 'Cancel one directive' },
  cancelAll: {
    tag: 'requests',
    summary: 'Cancel the requests that a filter chooses',
    description:
      'Those that have not ended, the newest first, up to `limit`; `next` is the `cursor` of the call that goes on. With `dry_run` they are named, and nothing is done. ' +
      'The filter is that of `GET /v1/requests`; without one, `all` has to be set.',
    body: ['bulk-cancel-body', bulkCancelBodySchema],
    isBodyOptional: true,
    answer: ['bulk-cancellation', bulkCancellationSchema],
    problems: [409, 415],
    isAbortable: true,
  },
  redriveAll: {
    tag: 'requests',
    summary: 'Redrive the dead letters of the requests that a filter chooses',
    description:
      'Those of failed requests, unless the filter names a status. Each gets a new id in the same request, as with ' +
      '`POST /v1/dead-letters/redrive`; `next` is the `cursor` of the call that goes on. With `dry_run` they are named, and nothing is done.',
    body: ['bulk-redrive-body', bulkRedriveBodySchema],
    isBodyOptional: true,
    answer: ['bulk-redrive', bulkRedriveSchema],
    problems: [409, 415],
    isAbortable: true,
  },
  reindex: {
    tag: 'requests',
    summary: 'Build the list of requests anew, step by step',
    description:
      'The first step, without `cursor`, has the service begin. Repeat with `next` until it is null: then the list is complete. The service goes on also when no further step is asked for.',
    body: ['reindex-body', reindexBodySchema],
    isBodyOptional: true,
    answer: ['reindex-step', reindexStepSchema],
    problems: [409, 415],
  },
} as const satisfies Record<string, Operation>;
