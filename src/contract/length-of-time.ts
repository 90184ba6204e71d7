// Lengths of time as a person types them: `90s`, `2h`, `7d`. Never guesses: an invalid text is null, and the caller
// names the forms.

/** Milliseconds of each unit; without one it is milliseconds. */
export const UNIT_MS: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds, of the groups `count` and `unit` of `form`, which says how long and in which units it may be; null: the text does not fit. */
export function lengthOfTime(text: string, form: RegExp): number | null {
  const { count, unit = '' } = form.exec(text)?.groups ?? {};
  return count === undefined ? null : Number(count) * (UNIT_MS[unit] ?? Number.NaN);
}
