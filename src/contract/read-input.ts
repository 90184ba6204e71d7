// What a caller has sent, as its schema reads it.
// Must never pass on what the schema refuses, nor a part of it.
import type * as z from 'zod';
import { fieldErrors } from './field-error.ts';
import { refusedAt } from './field-sentence.ts';

/** Throws the refusal, which names each field that is wrong. */
export function readInput<S extends z.ZodType>(
  schema: S,
  input: unknown,
  code: 'invalid_body' | 'invalid_query',
): z.output<S> {
  const read = schema.safeParse(input);
  if (read.success) return read.data;
  throw refusedAt(code, fieldErrors(read.error));
}
