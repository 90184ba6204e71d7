// The span of an answer to a question of a tool: beside the attempts, with who has answered and how.
// Must never show what was answered.
import { ownId, tenantField } from '../../contract/access/tenant.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { InputAnswerBody } from '../../contract/tool/tool-question.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import { placeUnder } from '../../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';

interface Answered {
  readonly directive: Directive;
  /** Context of the directive, whose `send` is above the span. */
  readonly traceparent: string;
  readonly inputId: string;
  readonly answer: Pick<InputAnswerBody, 'action' | 'by'>;
}

/** Once for each answer that counts. */
export function reportAnswer(spans: Spans, startedAt: number, answered: Answered): void {
  const { directive, traceparent, inputId, answer } = answered;
  const parent = spans.under(traceparent);
  if (parent === null) return;
  const { request_id, id, type } = directive;
  spans.report({
    place: placeUnder(parent, 'answer', inputId),
    name: 'answer',
    kind: 'internal',
    startedAt,
    endedAt: spans.now(),
    attributes: {
      [ATTRIBUTE.request]: ownId(request_id),
      ...tenantField(request_id, ATTRIBUTE.tenant),
      [ATTRIBUTE.directive]: id,
      [ATTRIBUTE.directiveType]: type,
      [ATTRIBUTE.input]: inputId,
      [ATTRIBUTE.decision]: answer.action,
      [ATTRIBUTE.answeredBy]: answer.by,
    },
    error: null,
  });
}
