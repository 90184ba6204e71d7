// Records a score of a request: a verdict that a person or a program gives, also after the request has closed.
// Must never open a request again, nor record the same score twice.
import {
  MOST_SCORES,
  type RecordedScore,
  type ScoreBody,
  scoreBodySchema,
} from '../../contract/case/score.ts';
import { ownId } from '../../contract/access/tenant.ts';
import { readBody } from '../../contract/json/read-input.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { newIdentifier } from '../../platform/telemetry/identifier.ts';
import { contentDigest } from '../../store/request/content-digest.ts';
import type { Reports } from '../../platform/telemetry/reports.ts';
import type { ChangedRequests } from '../../store/index/changed-requests.ts';
import type { Journal } from '../../store/request/journal.ts';
import { requestFull, unknownRequest } from '../read/not-found.ts';

interface ScoreParts {
  readonly journal: Pick<Journal, 'score' | 'log'>;
  readonly changes: Pick<ChangedRequests, 'note'>;
  readonly reports: Pick<Reports, 'count'>;
  /** The context that its run was started in; null: it has no run. */
  readonly runs: { traceparent(requestId: string): Promise<string | null> };
}

/** Throws `DirectiveRefused` (`not_found`, `id_conflict`, `request_full`, `invalid_body`). The same again is the same. */
export function createScore({ journal, runs, changes, reports }: ScoreParts) {
  return async (requestId: string, body: ScoreBody): Promise<RecordedScore> => {
    const { score_id: id = newIdentifier(), ...score } = readBody(scoreBodySchema, body);
    const first = await journal.log.at(requestId, 1);
    const traceparent = (await runs.traceparent(requestId)) ?? first?.traceparent;
    // A log without a signal belongs to a request that is unknown, or has done nothing that could be judged.
    if (traceparent === undefined) throw unknownRequest(requestId);
    const data = { score_id: id, ...score };
    const verdict = await journal.score(requestId, { id, digest: contentDigest(data), data, traceparent });
    switch (verdict.kind) {
      case 'recorded': {
        changes.note(requestId);
        const { name, value, passed } = score;
        reports.count(requestId, { series: [['score', name]], score: { value, passed } });
        return { request_id: ownId(requestId), score_id: id, sequence: verdict.sequence };
      }
      case 'known':
        // The process that recorded it may have died before it noted the change.
        changes.note(requestId);
        return { request_id: ownId(requestId), score_id: id, sequence: verdict.sequence };
      case 'conflict':
        throw refusal('id_conflict', `the score "${id}" of request "${ownId(requestId)}" has other content`);
      case 'too_many':
        throw refusal(
          'request_full',
          `request "${ownId(requestId)}" has ${MOST_SCORES} scores, the most of a request`,
        );
      case 'no_room':
        throw requestFull(requestId, verdict.bytes, verdict.limit);
      case 'unknown':
        throw unknownRequest(requestId);
    }
  };
}

function refusal(code: 'id_conflict' | 'request_full', detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}
