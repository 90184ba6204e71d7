// The approval of a person that a call needs by the configuration of its server: asked for before the call, as a question of the service.
// Must never let a call pass that no one has approved, nor an approval count for other content.
import { isApproval, OWN_ENDPOINT } from '../../store/request/questions.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { redact } from '../../contract/json/redaction.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import { APPROVAL_KEY, QUESTION_LIMITS } from '../../contract/tool/tool-question.ts';
import type { AskedQuestions, Execution } from '../executors/definition.ts';
import type { AttemptParts, Claimed } from './claimed.ts';
import { durably } from '../record/durably.ts';
import { isEncrypted } from './encrypted-attempt.ts';
import { firstAnswer } from './questions.ts';

/**
 * null: the call needs no approval, or has it. Else what becomes of the attempt: it asks, or ends. A directive that was asked something else
 * before had begun when the configuration named no approval, or was approved in its first round.
 */
export async function unapproved(
  parts: AttemptParts,
  claimed: Claimed,
  directive: Directive,
): Promise<Execution | null> {
  const { definition, lane, granted, claim, digest } = claimed;
  const patienceMs = definition.approvalMs?.(directive, lane) ?? null;
  if (patienceMs === null) return null;
  const { asked } = granted;
  if (asked === null) return { result: okResult(null), asks: approvalOf(directive, digest, patienceMs) };
  const { questions } = parts.records.journal;
  const round = await durably(parts, () => questions.round(claim.requestId, claim.id));
  if (round === null || !isApproval(round)) return null;
  const { action, reason, isLate } = await firstAnswer(parts, claimed, asked);
  // @guard approved-content
  if (action === 'accept' && round.state === digest) return null;
  const tool = toolOf(directive);
  if (isLate) return refused('approval_expired', `No one decided about the call of \`${tool}\` in time`);
  return refused('denied', `The call of \`${tool}\` was denied${reason === undefined ? '' : `: ${reason}`}`);
}

function refused(type: string, message: string): Execution {
  return { result: errorResult(errorEnvelope(type, message)), unsent: true };
}

/** The state binds the decision to the content of the directive, which its digest names. */
function approvalOf(directive: Directive, digest: string, patienceMs: number): AskedQuestions {
  const message = `Approve the call of \`${toolOf(directive)}\`? ${argumentsText(directive, digest)}`;
  const schema = { type: 'object', properties: {} };
  return {
    questions: [{ key: APPROVAL_KEY, question: { mode: 'form', message, schema } }],
    state: digest,
    endpoint: OWN_ENDPOINT,
    patienceMs,
    afresh: false,
    stopsDeadline: true,
  };
}

const SHOWN = QUESTION_LIMITS.messageCharacters - 512;

function argumentsText(directive: Directive, digest: string): string {
  if (isEncrypted(directive)) return `Its arguments are encrypted (digest ${digest}).`;
  const given = 'arguments' in directive ? directive.arguments : {};
  const text = JSON.stringify(redact(jsonSafe(given ?? {})));
  return text.length <= SHOWN
    ? `Arguments: ${text}`
    : `Its arguments are longer than a question (digest ${digest}): read the directive.`;
}

function toolOf(directive: Directive): string {
  return 'tool_name' in directive ? String(directive.tool_name) : directive.type;
}
