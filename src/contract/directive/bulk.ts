// Actions on many requests at once, chosen by a filter: cancellation, or another execution of failed directives. Never
// acts on all requests because a filter is missing.
import * as z from 'zod';
import { redriveSchema } from './dead-letter.ts';
import { identifierSchema } from '../identifiers.ts';
import { CURSOR_PATTERN, REQUEST_STATUSES, requestFilterSchema } from '../request/request-listing.ts';

/** Requests of one call. */
export const MOST_BULK = 1_000;

const chosen = {
  filter: requestFilterSchema
    .default({})
    .describe('Filter that selects requests. Default: {}, which requires `all`.'),
  all: z.literal(true).optional().describe('Selects every request where the filter is empty.'),
  dry_run: z
    .boolean()
    .default(false)
    .describe('Whether the call only reports the selection, without any change. Default: false.'),
  limit: z
    .int()
    .min(1)
    .max(MOST_BULK)
    .default(100)
    .describe('Maximum number of requests of one call. Default: 100.'),
  cursor: z
    .string()
    .max(160)
    .refine((text) => isPlace(text), 'must be the `next` of an answer with the same filter')
    .optional()
    .describe('The `next` of the previous answer with the same filter.'),
};

/** Between the status that is gone through and the place in its list. */
function isPlace(text: string): boolean {
  const slash = text.indexOf('/');
  const statuses: readonly string[] = REQUEST_STATUSES;
  return statuses.includes(text.slice(0, slash)) && CURSOR_PATTERN.test(text.slice(slash + 1));
}

const RULE = { path: ['filter'], message: 'give a filter, or set `all`: true' };

function isChosen({ filter, all }: { filter: object; all?: true | undefined }): boolean {
  return all === true || Object.values(filter).some((value) => value !== undefined);
}

/** Cancels the requests that fit and have not ended. */
export const bulkCancelBodySchema = z
  .strictObject({
    ...chosen,
    reason: z
      .string()
      .max(1_000)
      .optional()
      .describe('Reason of the cancellation, at most 1,000 characters.'),
  })
  .refine(isChosen, RULE);

/** Redrives the dead letters of the requests that fit and have any. */
export const bulkRedriveBodySchema = z.strictObject(chosen).refine(isChosen, RULE);

const rest = {
  more: z
    .boolean()
    .describe(
      'Whether more requests match than `limit`, or than the call had time for. Repeat the call with `next`.',
    ),
  next: z
    .string()
    .nullable()
    .describe('Cursor of the next call; null: no request remains, or with `more` the same call continues.'),
  incomplete: z
    .boolean()
    .optional()
    .describe(
      'Whether the list is being built, so that matching requests may be missing. A repeat finds them later.',
    ),
};

/** Schema of the answer to a bulk cancellation. */
export const bulkCancellationSchema = z.object({
  dry_run: z.boolean().describe('Whether the call only reported the selection.'),
  requests: z
    .array(
      z.object({
        request_id: identifierSchema.describe('Id of the request.'),
        cancelled: z.int().min(0).describe('Number of directives that ended. 0 in a dry run.'),
        requested: z.int().min(0).describe('Number of attempts that are being aborted. 0 in a dry run.'),
      }),
    )
    .describe('Requests that were cancelled.'),
  ...rest,
});

/** Schema of the answer to a bulk redrive. */
export const bulkRedriveSchema = redriveSchema.omit({ left: true }).extend({
  dry_run: z.boolean().describe('Whether the call only reported the selection.'),
  found: z
    .array(
      z.object({
        request_id: identifierSchema.describe('Id of the request.'),
        id: identifierSchema.describe('Id of the directive.'),
      }),
    )
    .describe('Dead letters that were found; in a dry run, those that would be redriven.'),
  ...rest,
});

/** Largest scan cursor of Redis: 64 bits. */
const LARGEST_SCAN_CURSOR = 2n ** 64n - 1n;

/** One step of a reindexing; absent `cursor`: the first one, which asks for it. */
export const reindexBodySchema = z.strictObject({
  cursor: z
    .string()
    .regex(/^\d{1,4}:\d{1,20}$/, 'must be the `next` of a step')
    .refine((cursor) => isScanCursor(cursor), 'must be the `next` of a step')
    .optional()
    .describe('The `next` of the previous step. Default: the beginning.'),
});

function isScanCursor(cursor: string): boolean {
  const [, scanned = ''] = cursor.split(':');
  return /^\d{1,20}$/.test(scanned) && BigInt(scanned) <= LARGEST_SCAN_CURSOR;
}

/** Schema of the answer to a reindexing step. */
export const reindexStepSchema = z.object({
  noted: z.int().min(0).describe('Number of requests that were found since the previous step.'),
  pending: z.int().min(0).describe('Number of requests that are still to be indexed.'),
  next: z.string().nullable().describe('Cursor of the next step; null: the index is complete.'),
});

/** Body of a bulk cancellation. */
export type BulkCancelBody = z.input<typeof bulkCancelBodySchema>;
/** Answer to a bulk cancellation. */
export type BulkCancellation = z.infer<typeof bulkCancellationSchema>;
/** Body of a bulk redrive. */
export type BulkRedriveBody = z.input<typeof bulkRedriveBodySchema>;
/** Answer to a bulk redrive. */
export type BulkRedrive = z.infer<typeof bulkRedriveSchema>;
/** Answer to a reindexing step. */
export type ReindexStep = z.infer<typeof reindexStepSchema>;
