// The CloudEvents attributes that every signal carries, around the data of its type.
// Must never define the data of a signal: each family does that in its own file.
import * as z from 'zod';
import { identifierSchema, instantSchema, jsonObjectSchema } from './identifiers.ts';

/** W3C trace context, version 00; all-zero ids are invalid there. */
export const TRACEPARENT_PATTERN = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const attributes = {
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  subject: identifierSchema,
  time: instantSchema,
  datacontenttype: z.literal('application/json'),
  traceparent: z.string().regex(TRACEPARENT_PATTERN, 'a W3C traceparent'),
  causationid: z.string().min(1),
  attempt: z.int().min(1).optional(),
};

const sequenced = { ...attributes, sequence: z.int().min(1) };

export const metadataSchema = jsonObjectSchema.default({});

/**
 * One signal type in its two forms: `wire` for readers, which skips what it does not know so that the contract can
 * grow, and `draft` for writers, which refuses unknown members and has no `sequence` yet.
 */
export function signalType<T extends string, S extends string, D extends z.ZodRawShape>(
  type: T,
  source: S,
  data: D,
) {
  const names = { type: z.literal(type), source: z.literal(source) };
  return {
    type,
    source,
    wire: z.object({ ...sequenced, ...names, data: z.object(data) }),
    draft: z.strictObject({ ...attributes, ...names, data: z.strictObject(data) }),
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
    .regex(/^(?!ai\.|agent\.|directive\.)\S{1,256}$/, 'a type outside ai., agent. and directive.'),
  source: z.string().min(1),
  data: jsonObjectSchema,
});
