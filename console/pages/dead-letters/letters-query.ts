/** Which dead letters are meant: of a lane, a type of error and a time, as the API takes it.
 *  It must never ask for another page than the one that is shown. */

import type { DeadLetterGroup } from '../../../src/contract/directive/dead-letter.ts';

export interface LettersFilter {
  /** '' = any. */
  readonly lane: string;
  readonly errorType: string;
  /** null: any time. */
  readonly since: string | null;
}

/** A lane has no slash, a type of error may. */
export function groupText({ lane, error_type }: Pick<DeadLetterGroup, 'lane' | 'error_type'>): string {
  return `${lane ?? ''}/${error_type}`;
}

/** '' = all groups. */
export function filterOf(group: string, since: string | null): LettersFilter {
  const slash = group.indexOf('/');
  return { lane: group.slice(0, Math.max(0, slash)), errorType: group.slice(slash + 1), since };
}

export const MOST_LETTERS = 1_000;

/** The choices of an order, as `order` of the list. */
export const ORDERS = [
  ['', 'newest first'],
  ['oldest', 'oldest first'],
] as const;

/** `order` as in `ORDERS`. */
export function lettersPath({ lane, errorType, since }: LettersFilter, limit: number, order: string): string {
  const query = new URLSearchParams({ limit: String(Math.min(limit, MOST_LETTERS)) });
  if (order === 'oldest') query.set('order', order);
  if (lane !== '') query.set('lane', lane);
  if (errorType !== '') query.set('error_type', errorType);
  if (since !== null) query.set('since', since);
  return `/v1/dead-letters?${query.toString()}`;
}
