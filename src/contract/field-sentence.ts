// Field errors as text for people, and the refusal that starts with the first of them.
// Must never lose the place of an error, nor invent one for the whole value.
import { boundedErrors } from './field-error.ts';
import { DirectiveRefused, type FieldError, problem, type ProblemCode } from './problem.ts';

/**
 * Sentence about a fault, such as `params.tier is required`. `whole` names the whole value in its own faults; absent:
 * the message alone.
 */
export function fieldSentence({ path, message }: FieldError, whole = ''): string {
  const place = path || whole;
  return place === '' ? message : `${place} ${message}`;
}

/** `params.tier: is required`; an error about the whole value is its message. */
export function fieldLine({ path, message }: FieldError): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** The first error becomes its detail; beyond a hundred they are only counted. */
export function refusedAt(code: ProblemCode, errors: FieldError[]): DirectiveRefused {
  const [first] = errors;
  const detail = first === undefined ? {} : { detail: fieldLine(first) };
  return new DirectiveRefused(problem(code, { ...detail, errors: boundedErrors(errors) }));
}
