/** Validates the input beside the body: path ids, query values, headers.
 *  It must never guess: a value that does not fit is refused. */
import type { FastifySchemaCompiler } from 'fastify';
import * as z from 'zod';
import { fieldErrors, refusedAt } from '../contract/json/field-error.ts';
import type { ProblemCode } from '../contract/problem.ts';
import { ownMember } from '../contract/json/json-object.ts';

const PART_CODES: Readonly<Record<string, ProblemCode>> = {
  querystring: 'invalid_query',
  headers: 'invalid_header',
};

/** Validates parameters, queries and headers. Bodies pass: `parseSubmission` reads them once, with better paths. */
export const validateInput: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = '' }) => {
  if (httpPart === 'body') return (value: unknown) => ({ value });
  const validate = (value: unknown) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { value: parsed.data };
    return { error: refusedAt(ownMember(PART_CODES, httpPart) ?? 'bad_request', fieldErrors(parsed.error)) };
  };
  if (httpPart === 'querystring') return remembered(validate);
  if (httpPart !== 'headers' || !(schema instanceof z.ZodObject)) return validate;
  const names = Object.keys(schema.shape);
  // Most requests have none of them, and all are optional: nothing to read, and no copy of all the others.
  return (value: unknown) => (names.some((name) => isNamed(value, name)) ? validate(value) : {});
};

type Validate = (value: unknown) => { value?: unknown; error?: Error };

/** Most queries of a route are the one before again; only those with one value, or none, are compared. */
function remembered(validate: Validate): Validate {
  let last: { name: string | undefined; text: unknown; value: object } | null = null;
  return (query: unknown) => {
    const [name, other] = Object.keys(query as object);
    if (other !== undefined) return validate(query);
    const text = name === undefined ? '' : (query as Record<string, unknown>)[name];
    if (last !== null && last.name === name && last.text === text) return { value: { ...last.value } };
    const validated = validate(query);
    if (typeof text === 'string' && validated.error === undefined)
      last = { name, text, value: validated.value as object };
    return validated;
  };
}

function isNamed(headers: unknown, name: string): boolean {
  return (headers as Record<string, unknown>)[name] !== undefined;
}
