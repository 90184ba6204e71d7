/** GET /v1/audit: who has changed what, newest first.
 *  It must never show what was submitted, decided or answered. */
import * as z from 'zod';
import type { AccessClient } from '../../contract/access.ts';
import { AUDIT_LOGS, auditPageSchema } from '../../contract/audit.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { wholeNumber } from '../request-input.ts';

const LARGEST_PAGE = 1_000;

const NO_NEXT = 'must be the `next` of a page';
const STREAM_ID = /^\d{1,20}-\d{1,20}$/;
const LARGEST_PART = 2n ** 64n - 1n;

/** Of an entry: Redis counts in 64 bits, and nothing is before 0-0. */
function isStreamId(text: string): boolean {
  if (!STREAM_ID.test(text)) return false;
  const parts = text.split('-').map(BigInt);
  return parts.some((part) => part > 0n) && parts.every((part) => part <= LARGEST_PART);
}

const query = z.strictObject({
  log: z.enum(AUDIT_LOGS).optional().describe('Submissions, or all other changes. Default: changes.'),
  before: z
    .string()
    .regex(STREAM_ID, NO_NEXT)
    .refine(isStreamId, NO_NEXT)
    .optional()
    .describe('The `next` of the page before.'),
  limit: wholeNumber(1, LARGEST_PAGE, 'How many a page holds at most. Default: 100.').optional(),
});

const schema = {
  operationId: 'audit',
  summary: 'Who has submitted, cancelled, decided, redriven, made or revoked a key, newest first',
  description: 'Only what was done with keys is noted: the newest 10,000 changes and 20,000 submissions.',
  tags: ['access'],
  querystring: query,
  response: { 200: auditPageSchema, ...problems() },
};

export function auditRoutes(app: App, { audit }: Pick<AccessClient, 'audit'>): void {
  app.get('/v1/audit', { schema }, async (request) => audit(request.query));
}
