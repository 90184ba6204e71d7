// The input of a caller, as its schema reads it. Never passes on refused input, nor a part of it.
import type * as z from 'zod';
import { fieldErrors, refusedAt } from './field-error.ts';
import { findJsonHazard } from './json-guard.ts';
import { wellFormed } from './well-formed.ts';

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

/** The same for a body of JSON that is stored or sent on: without hazards, and in well-formed Unicode. */
export function readBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const hazard = findJsonHazard(body);
  if (hazard !== null) throw refusedAt('invalid_body', [hazard]);
  return readInput(schema, wellFormed(body), 'invalid_body');
}
