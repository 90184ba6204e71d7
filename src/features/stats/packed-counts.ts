// Counts of one series and interval as one short text, `name=number` for each that is not zero, and what a reader makes of them.
// Must never lose a count that a later version has written: names that are unknown here stay as they are.
import { ERROR_TYPES } from '../../contract/error-envelope.ts';
import { OTHER_NAMES, type StatsCounts } from '../../contract/request/stats.ts';
import type { FactCounts } from '../../platform/telemetry/reports.ts';

/** Counts by their stored names. */
export type Counts = Map<string, number>;

/** Stored names. A duration counts in `d<place>`, a wait in `w<place>`, a failure also in `e.<type>`. */
const NAME = {
  started: 's',
  succeeded: 'k',
  failed: 'f',
  cancelled: 'c',
  inputTokens: 'i',
  outputTokens: 'o',
  nanoUsd: 'n',
  toolCalls: 't',
  modelCalls: 'm',
  scores: 'p',
  scoreSum: 'v',
  scoresPassed: 'y',
  scoresFailed: 'z',
} as const;

const NANO = 1e9;
const KNOWN_ERRORS: ReadonlySet<string> = new Set(ERROR_TYPES);

/** Each place of a histogram is a quarter wider than the one before, so that its middle is at most 12 % off. */
const GROWTH = Math.log(1.25);
/** The last place holds everything above about 45 days. */
const LAST_PLACE = 99;

function placeOf(ms: number): number {
  return ms < 1 ? 0 : Math.min(LAST_PLACE, 1 + Math.floor(Math.log(ms) / GROWTH));
}

/** Geometric middle of a place, milliseconds. */
function middleOf(place: number): number {
  return place === 0 ? 0 : Math.exp((place - 0.5) * GROWTH);
}

function add(counts: Counts, name: string, by: number): void {
  if (by !== 0) counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Adds what was counted of one thing. */
export function addFact(counts: Counts, fact: FactCounts): void {
  if (fact.started === true) add(counts, NAME.started, 1);
  if (fact.ended !== undefined) addEnd(counts, fact.ended);
  if (fact.waitedMs !== undefined) add(counts, `w${placeOf(fact.waitedMs)}`, 1);
  if (fact.tokens) {
    add(counts, NAME.inputTokens, fact.tokens.input);
    add(counts, NAME.outputTokens, fact.tokens.output);
  }
  if (fact.cost) add(counts, NAME.nanoUsd, Math.round(fact.cost * NANO));
  if (fact.toolCalls !== undefined) add(counts, NAME.toolCalls, fact.toolCalls);
  if (fact.modelCalls !== undefined) add(counts, NAME.modelCalls, fact.modelCalls);
  if (fact.score !== undefined) addScore(counts, fact.score);
}

function addEnd(counts: Counts, { errorType, durationMs }: NonNullable<FactCounts['ended']>): void {
  if (errorType === null) add(counts, NAME.succeeded, 1);
  else if (errorType === 'cancelled') add(counts, NAME.cancelled, 1);
  else {
    add(counts, NAME.failed, 1);
    add(counts, `e.${KNOWN_ERRORS.has(errorType) ? errorType : OTHER_NAMES}`, 1);
  }
  if (durationMs !== null) add(counts, `d${placeOf(durationMs)}`, 1);
}

function addScore(counts: Counts, { value, passed }: NonNullable<FactCounts['score']>): void {
  add(counts, NAME.scores, 1);
  add(counts, NAME.scoreSum, value);
  if (passed !== undefined) add(counts, passed ? NAME.scoresPassed : NAME.scoresFailed, 1);
}

/** Adds the counts of another series. */
export function addCounts(counts: Counts, more: Counts): void {
  for (const [name, by] of more) add(counts, name, by);
}

/** Adds the counts of a text. */
export function addPacked(counts: Counts, text: string): void {
  for (const part of text.split(' ')) {
    const at = part.indexOf('=');
    const by = Number(part.slice(at + 1));
    if (at > 0 && Number.isFinite(by)) add(counts, part.slice(0, at), by);
  }
}

/** How much ended, by which series are ranked. */
export function endedIn(counts: Counts): number {
  const ended = [NAME.succeeded, NAME.failed, NAME.cancelled, NAME.scores];
  return ended.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
}

export function countsShown(counts: Counts, withScore: boolean): StatsCounts {
  const whole = (name: string): number => Math.max(0, Math.round(counts.get(name) ?? 0));
  const errors = [...counts].filter(([name]) => name.startsWith('e.'));
  return {
    started: whole(NAME.started),
    succeeded: whole(NAME.succeeded),
    failed: whole(NAME.failed),
    cancelled: whole(NAME.cancelled),
    error_types: Object.fromEntries(errors.map(([name, number]) => [name.slice(2), number])),
    duration_ms: quantiles(counts, 'd'),
    waited_ms: quantiles(counts, 'w'),
    tokens: { input: whole(NAME.inputTokens), output: whole(NAME.outputTokens) },
    cost: whole(NAME.nanoUsd) / NANO,
    tool_calls: whole(NAME.toolCalls),
    model_calls: whole(NAME.modelCalls),
    ...(withScore ? { score: scoreOf(counts, whole) } : {}),
  };
}

function scoreOf(counts: Counts, whole: (name: string) => number): NonNullable<StatsCounts['score']> {
  const count = whole(NAME.scores);
  return {
    count,
    mean: count === 0 ? 0 : (counts.get(NAME.scoreSum) ?? 0) / count,
    passed: whole(NAME.scoresPassed),
    failed: whole(NAME.scoresFailed),
  };
}

const PLACES = { d: placesOf('d'), w: placesOf('w') };

function placesOf(kind: string): string[] {
  return Array.from({ length: LAST_PLACE + 1 }, (_, place) => `${kind}${place}`);
}

function quantiles(counts: Counts, kind: 'd' | 'w'): StatsCounts['duration_ms'] {
  const places = PLACES[kind].map((name) => counts.get(name) ?? 0);
  const total = places.reduce((sum, number) => sum + number, 0);
  if (total === 0) return null;
  const at = (share: number): number => {
    let left = share * total;
    const place = places.findIndex((number) => (left -= number) <= 0);
    return Math.round(middleOf(place === -1 ? LAST_PLACE : place));
  };
  return { p50: at(0.5), p95: at(0.95) };
}
