// Scores of requests: verdicts about a finished request, of a person or a program, that may come days later.
// Never changes the request that is judged: a score is a signal of its log, and no more.
import * as z from 'zod';
import { identifierSchema } from '../identifiers.ts';
import { answeredBySchema } from '../tool/tool-question.ts';

/** Type of the signal of a score. */
export const SCORE_SIGNAL = 'score.recorded';
/** Most scores of one request. */
export const MOST_SCORES = 1_000;

/** Schema of the name of a score. */
export const scoreNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 _ . -');

/** Schema of a score. */
export const scoreBodySchema = z.strictObject({
  score_id: identifierSchema
    .optional()
    .describe('Id of the score; the same id with the same content is the same score. Default: generated.'),
  name: scoreNameSchema.describe('Name of the score, 1 to 64 characters of A-Z a-z 0-9 _ . -'),
  value: z.number().describe('Value of the score; its unit and range are those of its name.'),
  passed: z.boolean().optional().describe('Whether the request passed. Absent: the value alone counts.'),
  comment: z.string().max(4_096).optional().describe('Explanation, at most 4,096 characters. Default: none.'),
  by: answeredBySchema
    .optional()
    .describe(
      "Name of the judging person or program, as the caller states it. Default: the name of the caller's key, where keys are required.",
    ),
});

/** Schema of the answer to a score. */
export const recordedScoreSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  score_id: identifierSchema.describe('Id of the score.'),
  sequence: z.int().min(1).describe('Sequence number of the signal `score.recorded`.'),
});

/** Score of a request. */
export type ScoreBody = z.infer<typeof scoreBodySchema>;
/** Answer to a score. */
export type RecordedScore = z.infer<typeof recordedScoreSchema>;
