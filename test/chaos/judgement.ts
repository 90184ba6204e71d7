/** What may be said of what was found: a machine that is too busy, or evidence that has expired, proves nothing about the service.
 *  It must never excuse what is wrong at any speed, nor what is wrong on a machine that had time. */

const MARK = 'not in time: ';

/** Something that was still missing when its time was over. */
export function notInTime(sentence: string): string {
  return `${MARK}${sentence}`;
}

function dependsOnTime(sentence: string): boolean {
  return sentence.includes(MARK);
}

/** What was read of a request, and how long after it was last seen open, milliseconds. */
export interface Reading {
  readonly view: { readonly sequence: number } | null;
  readonly signals: readonly unknown[];
  readonly readAfterMs: number;
}

/** A part of the retention: a request that closed while it was driven expires that much sooner than it was seen. */
const SAFE_SHARE = 0.7;

/** Whether it was read so late that what is missing of it may have expired. */
export function mayHaveExpired({ view, signals, readAfterMs }: Reading, retentionMs: number): boolean {
  const isWhole = view !== null && signals.length >= view.sequence;
  return !isWhole && readAfterMs > retentionMs * SAFE_SHARE;
}

export interface Judgement {
  readonly violations: readonly string[];
  readonly unjudged: readonly string[];
}

export function judgementOf(found: readonly string[], isTooBusy: boolean): Judgement {
  const isUnjudged = (sentence: string): boolean => isTooBusy && dependsOnTime(sentence);
  return {
    violations: found.filter((sentence) => !isUnjudged(sentence)),
    unjudged: found.filter(isUnjudged),
  };
}
