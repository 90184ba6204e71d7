// Appends scores, and notes of the service, to the log of a request.
// Must never open the request again.
import { MOST_SCORES, SCORE_SIGNAL } from '../../contract/case/score.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { KeySpace } from '../keys.ts';
import { draftSignal } from '../log/signal-draft.ts';
import { writeSignal } from '../log/stored-signal.ts';
import type { RunScript } from '../scripts.ts';

export type ScoreVerdict =
  | { readonly kind: 'recorded' | 'conflict'; readonly sequence: number }
  | { readonly kind: 'no_room'; readonly bytes: number; readonly limit: number }
  | { readonly kind: 'unknown' | 'too_many' };

export interface StoredScore {
  readonly id: string;
  readonly digest: string;
  readonly data: object;
  readonly traceparent: string;
}

/** `mostBytes`: the most that a request holds. */
export function createScores(run: RunScript, keys: KeySpace, mostBytes: (requestId: string) => number) {
  const score = async (requestId: string, stored: StoredScore): Promise<ScoreVerdict> =>
    note(requestId, SCORE_SIGNAL, stored);

  /** A signal that starts nothing and ends nothing, once for each id; scores and notes share their bound. */
  async function note(
    requestId: string,
    type: string,
    { id, digest, data, traceparent }: StoredScore,
  ): Promise<ScoreVerdict> {
    const origin = { requestId, causationId: id, traceparent };
    const signal = {
      ...draftSignal(type as SignalDraft['type'], data as never, origin),
      source: `/${type.slice(0, type.indexOf('.'))}`,
    };
    const limit = mostBytes(requestId);
    const args = [id, digest, limit, MOST_SCORES, writeSignal(requestId, signal)];
    const [kind, number] = await run('score', keys.request(requestId), args);
    if (kind === 'recorded' || kind === 'conflict') return { kind, sequence: Number(number) };
    if (kind === 'no_room') return { kind, bytes: Number(number), limit };
    return { kind: kind === 'too_many' ? kind : 'unknown' };
  }

  return { score, note };
}
