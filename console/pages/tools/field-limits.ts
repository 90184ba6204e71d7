/** The limits that a schema sets for a single value: what a person reads of them, and whether a value keeps them.
 *  It must never run a pattern: one of a stranger may not end. */
import { member, type Schema } from './schema-view.ts';

export interface FieldLimits {
  readonly least: number | null;
  readonly most: number | null;
  readonly isOverLeast: boolean;
  readonly isUnderMost: boolean;
  readonly shortest: number | null;
  readonly longest: number | null;
  readonly fewest: number | null;
  readonly manyMost: number | null;
  /** As `email` or `date-time`; '' = none. */
  readonly format: string;
  /** '' = none. */
  readonly pattern: string;
}

const LONGEST_WORD = 200;

export function limitsOf(schema: Schema): FieldLimits {
  const over = numberOf(schema, 'exclusiveMinimum');
  const under = numberOf(schema, 'exclusiveMaximum');
  return {
    least: over ?? numberOf(schema, 'minimum'),
    most: under ?? numberOf(schema, 'maximum'),
    isOverLeast: over !== null,
    isUnderMost: under !== null,
    shortest: numberOf(schema, 'minLength'),
    longest: numberOf(schema, 'maxLength'),
    fewest: numberOf(schema, 'minItems'),
    manyMost: numberOf(schema, 'maxItems'),
    format: wordOf(schema, 'format'),
    pattern: wordOf(schema, 'pattern'),
  };
}

/** For a person, as `1 to 10` and `at most 80 characters`. */
export function limitWords(limits: FieldLimits): string[] {
  const { least, most, isOverLeast, isUnderMost, shortest, longest, fewest, manyMost } = limits;
  return [
    rangeWords(least, most, { over: isOverLeast, under: isUnderMost }),
    countWords(shortest, longest, 'characters'),
    countWords(fewest, manyMost, 'entries'),
    limits.format,
    limits.pattern === '' ? '' : `like ${limits.pattern}`,
  ].filter((words) => words !== '');
}

function rangeWords(
  least: number | null,
  most: number | null,
  { over, under }: { over: boolean; under: boolean },
): string {
  if (least !== null && most !== null && !over && !under) return `${least} to ${most}`;
  const low = least === null ? '' : `${over ? 'more than' : 'at least'} ${least}`;
  const high = most === null ? '' : `${under ? 'less than' : 'at most'} ${most}`;
  return [low, high].filter(Boolean).join(', ');
}

/** "At least one" is what "required" says already. */
function countWords(fewest: number | null, most: number | null, what: string): string {
  const low = fewest === null || fewest <= 1 ? null : fewest;
  return low === null && most === null
    ? ''
    : `${rangeWords(low, most, { over: false, under: false })} ${what}`;
}

/** null: it keeps them. */
export function numberFault(value: number, limits: FieldLimits): string | null {
  const { least, most, isOverLeast, isUnderMost } = limits;
  const isLow = least !== null && (isOverLeast ? value <= least : value < least);
  const isHigh = most !== null && (isUnderMost ? value >= most : value > most);
  return isLow || isHigh
    ? `must be ${rangeWords(least, most, { over: isOverLeast, under: isUnderMost })}`
    : null;
}

/** null: it keeps them. Characters are code points, as in JSON schema. */
export function textFault(text: string, { shortest, longest }: FieldLimits): string | null {
  return countFault(Array.from(text).length, [shortest, longest], 'characters');
}

/** null: it keeps them. */
export function listFault(count: number, { fewest, manyMost }: FieldLimits): string | null {
  return countFault(count, [fewest, manyMost], 'entries');
}

function countFault(count: number, [fewest, most]: (number | null)[], what: string): string | null {
  if (typeof fewest === 'number' && count < fewest) return `needs at least ${fewest} ${what}`;
  if (typeof most === 'number' && count > most) return `may have at most ${most} ${what}`;
  return null;
}

function numberOf(schema: Schema, name: string): number | null {
  const value = member(schema, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function wordOf(schema: Schema, name: string): string {
  const value = member(schema, name);
  return typeof value === 'string' ? value.slice(0, LONGEST_WORD) : '';
}
