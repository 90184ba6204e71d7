// What is done to many requests at once, chosen by a filter: cancelling them, or executing again what failed in them.
// Must never act on all requests because a filter was forgotten.
import * as z from 'zod';
import { redriveSchema } from './dead-letter.ts';
import { identifierSchema } from './identifiers.ts';
import { CURSOR_PATTERN, REQUEST_STATUSES, requestFilterSchema } from './request-listing.ts';

/** Requests of one call. */
export const MOST_BULK = 1_000;

const chosen = {
  filter: requestFilterSchema.default({}),
  /** Every request. Never the default. */
  all: z.literal(true).optional(),
  /** Says what would be done, and does nothing. */
  dry_run: z.boolean().default(false),
  /** The most requests. */
  limit: z.int().min(1).max(MOST_BULK).default(100),
  /** The `next` of the answer before, with the same filter. */
  cursor: z
    .string()
    .max(160)
    .refine((text) => isPlace(text), 'must be the `next` of an answer with the same filter')
    .optional(),
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
  .strictObject({ ...chosen, reason: z.string().max(1_000).optional() })
  .refine(isChosen, RULE);

/** Redrives the dead letters of the requests that fit and have any. */
export const bulkRedriveBodySchema = z.strictObject(chosen).refine(isChosen, RULE);

const rest = {
  /** More requests fit than `limit`, or than the call had time for: repeat it with `next`. */
  more: z.boolean(),
  /** The `cursor` of the call that goes on; null: nothing is left, or with `more` the same call once more goes on. */
  next: z.string().nullable(),
  /** The list is being built: requests that fit may be missing, and a repeat finds them later. */
  incomplete: z.boolean().optional(),
};

export const bulkCancellationSchema = z.object({
  dry_run: z.boolean(),
  /** What was done: directives that were ended, and attempts that are being aborted. Of a dry run both are 0. */
  requests: z.array(
    z.object({
      request_id: identifierSchema,
      cancelled: z.int().min(0),
      requested: z.int().min(0),
    }),
  ),
  ...rest,
});

export const bulkRedriveSchema = redriveSchema.omit({ left: true }).extend({
  dry_run: z.boolean(),
  /** The dead letters that were found; of a dry run, what would be redriven. */
  found: z.array(z.object({ request_id: identifierSchema, id: identifierSchema })),
  ...rest,
});

/** Of Redis: it scans with 64 bits. */
const LARGEST_SCAN_CURSOR = 2n ** 64n - 1n;

/** One step of a reindexing; absent `cursor`: the first one, which asks for it. */
export const reindexBodySchema = z.strictObject({
  cursor: z
    .string()
    .regex(/^\d{1,4}:\d{1,20}$/, 'must be the `next` of a step')
    .refine((cursor) => isScanCursor(cursor), 'must be the `next` of a step')
    .optional(),
});

function isScanCursor(cursor: string): boolean {
  const [, scanned = ''] = cursor.split(':');
  return /^\d{1,20}$/.test(scanned) && BigInt(scanned) <= LARGEST_SCAN_CURSOR;
}

export const reindexStepSchema = z.object({
  /** Requests that were found since the step before. */
  noted: z.int().min(0),
  /** Requests whose rows are still to be written. */
  pending: z.int().min(0),
  /** The `cursor` of the step that follows; null: the list is complete. */
  next: z.string().nullable(),
});

export type BulkCancelBody = z.input<typeof bulkCancelBodySchema>;
export type BulkCancellation = z.infer<typeof bulkCancellationSchema>;
export type BulkRedriveBody = z.input<typeof bulkRedriveBodySchema>;
export type BulkRedrive = z.infer<typeof bulkRedriveSchema>;
export type ReindexStep = z.infer<typeof reindexStepSchema>;
