// Where a directive is in its chain of models, as the journal keeps it from one attempt to the next.
// Must never be read by the journal, to which it is an opaque text.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { boundedText } from '../../contract/json/json-safe.ts';
import type { CandidateState, CheaperModels } from '../executors/definition.ts';
import type { Claimed, Granted } from './claimed.ts';
import { NO_PAUSES, type Pauses, pausesAfter } from './pause.ts';

export interface CandidateRecord extends CandidateState {
  /** Failures of the directive when this candidate began: later ones belong to this candidate. */
  failures: number;
  /** The value for this candidate. */
  pauses: Pauses;
  /** Calls of any candidate that were sent and refused with "slow down", and are no attempts. */
  refused: number;
}

const FIRST: CandidateRecord = { index: 0, failures: 0, pauses: NO_PAUSES, refused: 0, history: [] };
const LONGEST_MESSAGE = 500;

/** The candidate that a claim is for; the journal keeps it in the field `stage`. */
export function candidateOf({ stage }: Pick<Granted, 'stage'>): CandidateRecord {
  return stage === '' ? FIRST : (JSON.parse(stage) as CandidateRecord);
}

/** The models that may serve it, first choice first; those that a budget lets it go on with come last. */
export function modelsOf({
  envelope,
  candidate,
}: Pick<Claimed, 'envelope' | 'candidate'>): readonly string[] {
  const { models = [] } = envelope;
  return candidate.cheaper === undefined ? models : [...models, ...candidate.cheaper.models];
}

/** The first of the cheaper models, after a budget was too small for the one before. */
export function candidateInstead(
  before: Pick<Claimed, 'envelope' | 'candidate' | 'granted'>,
  model: string,
  error: ErrorEnvelope,
  cheaper: CheaperModels,
): CandidateRecord {
  const next = candidateAfter(before.candidate, before.granted, model, error);
  return { ...next, index: before.envelope.models?.length ?? 0, cheaper };
}

/** The next candidate, after `model` was given up with `error`; that failure still counts for `model`. */
export function candidateAfter(
  candidate: CandidateRecord,
  { failures }: Pick<Granted, 'failures'>,
  model: string,
  { type, message }: ErrorEnvelope,
): CandidateRecord {
  const given = { model, type, message: boundedText(message, LONGEST_MESSAGE) };
  return {
    index: candidate.index + 1,
    failures: failures + 1,
    pauses: NO_PAUSES,
    refused: candidate.refused,
    history: [...candidate.history, given],
    ...(candidate.cheaper === undefined ? {} : { cheaper: candidate.cheaper }),
  };
}

/** The same candidate after a pause. `isRefused`: a call was sent and refused. `isAttempt`: readers know it as an attempt. */
export function candidatePaused(
  candidate: CandidateRecord,
  { isRefused, isAttempt }: { isRefused: boolean; isAttempt: boolean },
  now: number,
): CandidateRecord {
  return {
    ...candidate,
    pauses: pausesAfter(candidate.pauses, isRefused, now),
    refused: candidate.refused + (isRefused && !isAttempt ? 1 : 0),
  };
}
