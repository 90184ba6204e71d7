/** The dry run of redriving some dead letters, made of the letters themselves.
 *  Never calls a repeat harmless whose effect is unknown. */
import type { DeadLetter } from '../../../src/contract/directive/dead-letter.ts';
import type { Effect } from '../../data/effect-words.ts';

export interface PlannedTarget {
  /** Name of the tool or model; null: a type without one. */
  readonly name: string | null;
  readonly count: number;
  /** null: no tool of the current catalog; `model`: a call of a model. */
  readonly effect: Effect | 'model' | null;
  /** Number of them that may have happened. */
  readonly uncertain: number;
  /** Number of them that no server was sent. */
  readonly unreached: number;
}

export interface RedrivePlan {
  readonly count: number;
  readonly requests: number;
  /** The largest first. */
  readonly targets: readonly PlannedTarget[];
  /** Calls that were made, of tools that act once more each time, or whose effect is unknown. */
  readonly repeats: number;
  /** Number of them that may have happened. */
  readonly uncertain: number;
}

export function planOf(letters: readonly DeadLetter[], effects: ReadonlyMap<string, Effect>): RedrivePlan {
  const groups = Map.groupBy(letters, ({ type, name }) => `${type} ${name ?? ''}`);
  const targets = [...groups.values()].map((group) => targetOf(group, effects));
  const sum = (count: (target: PlannedTarget) => number): number =>
    targets.reduce((total, target) => total + count(target), 0);
  return {
    count: letters.length,
    requests: new Set(letters.map(({ request_id }) => request_id)).size,
    targets: targets.toSorted((one, other) => other.count - one.count),
    repeats: sum(({ effect, count, unreached }) => (isRepeat(effect) ? count - unreached : 0)),
    uncertain: sum(({ effect, uncertain }) => (isRepeat(effect) ? uncertain : 0)),
  };
}

function targetOf(group: readonly DeadLetter[], effects: ReadonlyMap<string, Effect>): PlannedTarget {
  const [first] = group;
  const name = first?.name ?? null;
  const isModel = first?.type.startsWith('llm_') === true;
  return {
    name,
    count: group.length,
    effect: isModel ? 'model' : ((name === null ? undefined : effects.get(name)) ?? null),
    uncertain: group.filter(mayHaveHappened).length,
    unreached: group.filter(neverReached).length,
  };
}

function isRepeat(effect: PlannedTarget['effect']): boolean {
  return effect === 'once' || effect === null;
}

/** The call may have reached the tool, and no answer of the tool came back. */
export function mayHaveHappened({ error }: Pick<DeadLetter, 'error'>): boolean {
  return error.type === 'outcome_unknown' || error.details['outcome'] === 'unknown';
}

const NOT_OFFERED: ReadonlySet<string> = new Set(['unknown_tool', 'unknown_model']);

/** It ended before an attempt, or at its only one, which reached no server. */
function neverReached(letter: DeadLetter): boolean {
  if (mayHaveHappened(letter)) return false;
  return letter.attempts === 0 || (letter.attempts === 1 && NOT_OFFERED.has(letter.error.type));
}

/** The outcome, then the effect of a repeat. */
export function targetWords(target: PlannedTarget): string {
  const { count, unreached, uncertain } = target;
  const server = target.effect === 'model' ? 'provider' : 'server';
  if (unreached === count) return `Never reached a ${server}: a redrive is the first call.`;
  const before = unreached === 0 ? '' : ` ${unreached} of them never reached a ${server}.`;
  const unknown =
    uncertain === 0 || !isRepeat(target.effect) ? '' : ` ${uncertain} may have happened already.`;
  return `${repeatWords(target.effect)}${before}${unknown}`;
}

function repeatWords(effect: PlannedTarget['effect']): string {
  switch (effect) {
    case 'read':
      return 'Safe to repeat: it only reads.';
    case 'idempotent':
      return 'Safe to repeat: a repeat changes nothing more.';
    case 'model':
      return 'The model is asked again, and paid again.';
    case 'once':
      return 'Was called, and ended in an error: redriving calls it again.';
    case null:
      return 'No server has it now: the effect of a repeat is unknown.';
  }
}
