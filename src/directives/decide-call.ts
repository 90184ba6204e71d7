// Decisions about calls that wait for approval by the configuration of their server: answers to the question of the service.
// Must never decide about a question that a tool asks: that has an answer, not a decision.
import { ownId } from '../contract/access/tenant.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import type { ApprovalDecisionBody, RecordedDecision } from '../contract/run/run.ts';
import { inputIdOf, type RecordedAnswer } from '../contract/tool/tool-question.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import { isApproval } from '../store/request/questions.ts';
import type { Journal } from '../store/request/journal.ts';

export interface DecideCallParts {
  journal: Pick<Journal, 'directive' | 'questions'>;
  answer(requestId: string, inputId: string, body: object, reason?: string): Promise<RecordedAnswer>;
}

/** null: the id names no directive that was asked about so. */
export function createCallDecision({ journal, answer }: DecideCallParts) {
  return async (
    requestId: string,
    callId: string,
    { decision, reason, by, arguments: edited }: ApprovalDecisionBody,
  ): Promise<RecordedDecision | null> => {
    const [record, round] = await whileAvailable(() =>
      Promise.all([journal.directive(requestId, callId), journal.questions.round(requestId, callId)]),
    );
    if (record === null || record.asked === null) return null;
    if (round === null || !isApproval(round)) return null;
    if (edited !== undefined) {
      const message = 'a call without an agent is approved as it is: deny it, and submit another one';
      throw refusedAt('invalid_body', [{ path: 'arguments', message }]);
    }
    const action = decision === 'approve' ? 'accept' : 'decline';
    const given = { action, ...(by === undefined ? {} : { by }) };
    const recorded = await answer(requestId, inputIdOf(callId, record.asked.first), given, reason);
    return {
      request_id: ownId(requestId),
      call_id: callId,
      decision,
      ...(recorded.by === undefined ? {} : { by: recorded.by }),
      decided_at: recorded.answered_at,
    };
  };
}
