// Scores of users' modules: what one declares, and how its verdict is read.
// Must never change the run that it judges.
import type { RecordedCase } from '../../contract/case/case.ts';
import type { CaseComparison } from '../../contract/case/compare.ts';

/** A replayed run as a score sees it. */
export interface ScoredRun {
  /** Recorded request. */
  readonly recorded: RecordedCase;
  /** The run that is judged. */
  readonly actual: RecordedCase;
  /** Comparison of the recorded request (`a`) with the run (`b`). */
  readonly comparison: CaseComparison;
}

/** Verdict of a score. */
export interface ScoreVerdict {
  readonly value: number;
  /** Default: whether `value` is at least the `least` of the score. */
  readonly passed?: boolean;
  /** Explanation. Default: none. */
  readonly comment?: string;
}

/** Score of a module, which `adjutant eval --scores` applies to each run. */
export interface Score {
  /** Name of the score, 1 to 64 characters of `A-Z a-z 0-9 _ . -`. */
  readonly name: string;
  /** Least value that passes. Default: 1. */
  readonly least?: number;
  /** Judges a run. `true` counts as 1, `false` as 0. */
  score(run: ScoredRun): number | boolean | ScoreVerdict | Promise<number | boolean | ScoreVerdict>;
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Whether an export of a module is a score. */
export function isScore(value: object): value is Score {
  const { name, score } = value as Partial<Score>;
  return typeof name === 'string' && NAME.test(name) && typeof score === 'function';
}

/**
 * Declares a score of a module.
 * @param score Name and function; `least` is the least value that passes, 1 by default.
 * @returns The score for the exports of a module.
 * @throws `TypeError` where the name or the function is missing or malformed.
 * @example
 * ```ts
 * import { defineScore } from 'adjutant/engine';
 * export const short = defineScore({
 *   name: 'short',
 *   score: ({ actual }) => String(actual.head.end?.result).length < 500,
 * });
 * ```
 */
export function defineScore(score: Score): Score {
  if (!isScore(score))
    throw new TypeError('A score needs a name of 1 to 64 of A-Z a-z 0-9 _ . - and a function "score".');
  return score;
}

/** The verdict of a score on a run. A score that throws, or answers no number, does not pass. */
export async function verdictOf(
  { name, least = 1, score }: Score,
  run: ScoredRun,
): Promise<{ name: string; value: number | null; passed: boolean; comment?: string }> {
  try {
    const answer = await score(run);
    const given: ScoreVerdict = typeof answer === 'object' ? answer : { value: Number(answer) };
    const { value, passed = value >= least, comment } = given;
    if (!Number.isFinite(value)) return { name, value: null, passed: false, comment: 'answers no number' };
    return { name, value, passed, ...(comment === undefined ? {} : { comment }) };
  } catch (error) {
    return {
      name,
      value: null,
      passed: false,
      comment: error instanceof Error ? error.message : String(error),
    };
  }
}
