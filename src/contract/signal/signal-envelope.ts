// The CloudEvents attributes that every signal carries, around the data of its type.
// Must never define the data of a signal: signal.ts does.
import * as z from 'zod';
import { identifierSchema, instantSchema, jsonObjectSchema } from '../identifiers.ts';

/** W3C trace context, version 00; all-zero ids are invalid there. */
export const TRACEPARENT_PATTERN = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const attributes = {
  specversion: z.literal('1.0').describe('Version of CloudEvents: `1.0`.'),
  id: z.string().min(1).describe('Id of the signal, unique within its source.'),
  subject: identifierSchema.describe('Id of the request that the signal belongs to.'),
  time: instantSchema.describe('Instant (UTC) at which the signal was written.'),
  datacontenttype: z.literal('application/json').describe('Media type of `data`: `application/json`.'),
  traceparent: z
    .string()
    .regex(TRACEPARENT_PATTERN, 'a W3C traceparent')
    .describe('W3C trace context of the work that the signal reports.'),
  causationid: z.string().min(1).describe('Id of the directive, run or signal that caused this signal.'),
  attempt: z
    .int()
    .min(1)
    .optional()
    .describe('Number of the attempt that the signal reports, from 1. Absent: none.'),
};

const sequenced = {
  ...attributes,
  sequence: z
    .int()
    .min(1)
    .describe('Position of the signal in the log of its request, from 1, without gaps.'),
};

/** Schema of the `call_id` of a signal. */
export const callIdSchema = z.string().min(1).describe('Id of the directive that the signal reports on.');

/** Schema of the metadata of a signal. */
export const metadataSchema = jsonObjectSchema
  .default({})
  .describe('Metadata of the directive or run, copied from its submission. Default: {}.');

/**
 * One signal type in its two forms: `wire` for readers, which skips what it does not know so that the contract can
 * grow, and `draft` for writers, which refuses unknown members and has no `sequence` yet.
 */
export function signalType<T extends string, S extends string, D extends z.ZodRawShape>(
  type: T,
  source: S,
  data: D,
) {
  const names = {
    type: z.literal(type).describe('Type of the signal.'),
    source: z.literal(source).describe('CloudEvents source of the signal.'),
  };
  return {
    type,
    source,
    wire: z.object({ ...sequenced, ...names, data: z.object(data).describe('Data of the signal.') }),
    draft: z.strictObject({
      ...attributes,
      ...names,
      data: z.strictObject(data).describe('Data of the signal.'),
    }),
  };
}

/**
 * A signal from user code: any type outside the service's families, any data.
 * Readers skip what they do not know, and meet it in the default branch of a switch over the known types.
 */
export const customSignalSchema = z.object({
  ...sequenced,
  type: z
    .string()
    .regex(/^(?!ai\.|agent\.|directive\.)\S{1,256}$/, 'a type outside ai., agent. and directive.')
    .describe('Type of the signal, outside the families `ai.`, `agent.` and `directive.`.'),
  source: z.string().min(1).describe('CloudEvents source of the signal.'),
  data: jsonObjectSchema.describe('Data of the signal.'),
});
