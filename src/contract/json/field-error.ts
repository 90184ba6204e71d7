// The issues that zod found, as field errors that name each member by its path, and as text for people.
// Must never list more errors than a person reads, nor repeat the offending value.
import type * as z from 'zod';
import { fieldPath } from './field-path.ts';
import { type FieldError, DirectiveRefused, problem, type ProblemCode } from '../problem.ts';

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

/** All of them in one line. */
export function faultText(errors: readonly FieldError[]): string {
  return errors.map((fault) => fieldSentence(fault)).join('; ');
}

/** The first error becomes its detail; beyond a hundred they are only counted. */
export function refusedAt(code: ProblemCode, errors: FieldError[]): DirectiveRefused {
  const [first] = errors;
  const detail = first === undefined ? {} : { detail: fieldLine(first) };
  return new DirectiveRefused(problem(code, { ...detail, errors: boundedErrors(errors) }));
}

const MAX_ERRORS = 100;
/** Unknown keys of one object that are named; the others are counted. */
const MAX_UNKNOWN_KEYS = 10;

type Issue = z.core.$ZodIssue;

/** The field errors of a failed parse; `prefix` is the path of the parsed value inside its body. */
export function fieldErrors(error: z.ZodError, prefix = ''): FieldError[] {
  return error.issues.flatMap((issue) => issueErrors(issue, [], prefix));
}

/** The first hundred errors; the last one counts what was left out. */
export function boundedErrors(errors: FieldError[]): FieldError[] {
  if (errors.length <= MAX_ERRORS) return errors;
  const left = errors.length - MAX_ERRORS + 1;
  return [...errors.slice(0, MAX_ERRORS - 1), { path: '', message: `and ${left} more errors` }];
}

function issueErrors(issue: Issue, parents: readonly PropertyKey[], prefix: string): FieldError[] {
  const keys = [...parents, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const left = issue.keys.length - MAX_UNKNOWN_KEYS;
    const named = issue.keys.slice(0, MAX_UNKNOWN_KEYS).map((key) => ({
      path: fieldPath([...keys, key], prefix),
      message: 'is not a known key',
    }));
    if (left <= 0) return named;
    return [...named, { path: fieldPath(keys, prefix), message: `has ${left} more unknown keys` }];
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const branches = branchesOf(issue.errors);
    const branch = nearestBranch(branches);
    if (branch) return branch.flatMap((nested) => issueErrors(nested, keys, prefix));
    return [{ path: fieldPath(keys, prefix), message: unionMessage(branches) }];
  }
  return [{ path: fieldPath(keys, prefix), message: messageOf(issue) }];
}

/** Flattens alternatives that are alternatives themselves. */
function branchesOf(branches: readonly (readonly Issue[])[]): readonly (readonly Issue[])[] {
  return branches.flatMap((branch) => {
    const [only, ...others] = branch;
    const isUnion = only?.code === 'invalid_union' && only.path.length === 0 && only.errors.length > 0;
    return isUnion && others.length === 0 ? branchesOf(only.errors) : [branch];
  });
}

/** The alternative whose type matched, so that only its members are reported. */
function nearestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  return branches.find((branch) =>
    branch.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys'),
  );
}

function unionMessage(branches: readonly (readonly Issue[])[]): string {
  const messages = new Set(branches.flatMap((branch) => branch.slice(0, 1).map(messageOf)));
  return [...messages].join('; or ');
}

function messageOf(issue: Issue): string {
  const bound = boundOf(issue);
  if (bound !== null) return bound;
  if (issue.message.endsWith(', received undefined')) return 'is required';
  return issue.message.replace(/^Invalid (input|option|string): /, '');
}

const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'items', set: 'items' };

/** A bound that is passed, in plain words; null: it is another fault, or has words of its own. */
function boundOf(issue: Issue): string | null {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return null;
  if (!/^Too (?:small|big)/.test(issue.message)) return null;
  const isSmall = issue.code === 'too_small';
  const limit = isSmall ? issue.minimum : issue.maximum;
  const word =
    issue.inclusive === false ? (isSmall ? 'more than' : 'less than') : isSmall ? 'at least' : 'at most';
  const unit = COUNTED[issue.origin];
  return unit === undefined ? `must be ${word} ${limit}` : `must have ${word} ${limit} ${unit}`;
}
