// The rules of the operator about a call, and the approval of a person that it needs by them or by the configuration of its server: asked
// for before the call, as a question of the service. Must never let a call pass that no one has approved, nor an approval count for other content.
import {
  isApproval,
  LOGIN_ENDPOINT,
  OWN_ENDPOINT,
  type QuestionRound,
} from '../../store/request/questions.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { redact } from '../../contract/json/redaction.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import type { Ruling } from '../../contract/policy/policy.ts';
import { isWebhookLane } from '../../store/catalog/route.ts';
import { toolNameIn } from '../../contract/tool/tool-pattern.ts';
import { APPROVAL_KEY, QUESTION_LIMITS } from '../../contract/tool/tool-question.ts';
import type { AskedQuestions, Execution, ExecutionContext } from '../executors/definition.ts';
import type { AttemptParts, Claimed, ClaimedCall } from './claimed.ts';
import type { AttemptHandle } from './running-attempts.ts';
import { durably } from '../record/durably.ts';
import { isEncrypted } from './encrypted-attempt.ts';
import { firstAnswer, redisNow } from './questions.ts';

/**
 * null: the call may be made, or an earlier attempt has made it and this one asks for its end. Otherwise the outcome of the attempt: it asks, or
 * ends. A directive that was asked something else before had begun when the configuration named no approval, or was approved in its first round.
 */
export async function unapproved(
  parts: AttemptParts,
  claimed: Claimed,
  directive: Directive,
  { stop }: Pick<AttemptHandle, 'stop'>,
): Promise<Execution | null> {
  const { definition, lane, granted, digest } = claimed;
  if (granted.task !== null) return null;
  const ruling = await rulingOf(parts, claimed, directive);
  if (ruling === 'taken-over') {
    stop('lost');
    return refused('cancelled', 'the claim was taken over before the call');
  }
  // @guard policy-denied
  if (ruling?.decision === 'deny') return deniedBy(ruling);
  const ruled = ruling?.decision === 'ask' ? ruling : null;
  const patienceMs = ruled?.askMs ?? definition.approvalMs?.(directive, lane) ?? null;
  if (patienceMs === null) return null;
  const round = granted.asked === null ? null : await lastRound(parts, claimed);
  const asking = (): Execution => ({
    result: okResult(null),
    asks: approvalOf(claimed, directive, { patienceMs, ruled }),
  });
  if (granted.asked === null || (round !== null && isUnapprovedLogin(round, digest))) return asking();
  const hasApproval = round !== null && isApproval(round);
  if (ruled !== null && claimed.candidate.cheaper !== undefined && !hasApproval) return unasked(ruled);
  const denied = hasApproval ? await disapproved(parts, claimed, directive, round) : null;
  // The approval was given before the rule asked for another approver.
  if (denied === null && hasApproval && isOther(ruled) && !isOther(round)) return asking();
  if (ruled !== null) await durably(parts, async () => parts.policy?.settle(claimed.claim, denied === null));
  return denied;
}

function isOther(by: Pick<Ruling, 'approver'> | null): boolean {
  return by?.approver === 'other';
}

async function lastRound(parts: AttemptParts, { claim }: Claimed): Promise<QuestionRound | null> {
  const { questions } = parts.records.journal;
  return durably(parts, () => questions.round(claim.requestId, claim.id));
}

/** A login keeps the digest of the content that was approved before it: without one it was asked for before anything had to be approved. */
function isUnapprovedLogin({ endpoint, state }: QuestionRound, digest: string): boolean {
  // @guard login-approves-nothing
  return endpoint === LOGIN_ENDPOINT && state !== digest;
}

/** null: a person has approved the call in this round. */
async function disapproved(
  parts: AttemptParts,
  claimed: Claimed,
  directive: Directive,
  round: QuestionRound,
): Promise<Execution | null> {
  const { digest, granted, lane } = claimed;
  if (granted.asked === null) return null;
  const { action, reason, isLate } = await firstAnswer(parts, claimed, granted.asked);
  // @guard approved-content
  if (action === 'accept' && round.state === digest) return null;
  const tool = toolOf(directive, lane);
  if (isLate) return refused('approval_expired', `No one decided about the call of \`${tool}\` in time`);
  return refused('denied', `The call of \`${tool}\` was denied${reason === undefined ? '' : `: ${reason}`}`);
}

/** null: there are no rules, or the directive delivers a webhook of the service. `taken-over`: another worker has the claim. */
async function rulingOf(
  parts: AttemptParts,
  claimed: Claimed,
  directive: Directive,
): Promise<Ruling | 'taken-over' | null> {
  const { policy } = parts;
  if (policy === null || isWebhookLane(claimed.lane)) return null;
  const call = ruledCall(claimed, directive, claimed.granted.now);
  return (await durably(parts, async () => policy.rule(call))) ?? 'taken-over';
}

function ruledCall(
  { envelope, lane, claim, digest, origin, candidate }: Claimed,
  directive: Directive,
  now: number,
): ClaimedCall {
  return { directive, envelope, lane, claim, digest, origin, candidate, now };
}

/** The rules about models that the tool of the call asks; undefined: there are none. */
export function samplingRules(
  { policy }: AttemptParts,
  claimed: Claimed,
  directive: Directive,
  { stop }: Pick<AttemptHandle, 'stop'>,
): ExecutionContext['deniedModels'] {
  if (policy === null) return undefined;
  return async (asked) => {
    const ruling = await policy.ruleSampled(ruledCall(claimed, directive, redisNow(claimed)), asked);
    if (ruling === null) stop('lost');
    if (ruling === null) return 'the claim of the call was taken over';
    return ruling.decision === 'deny' ? denialOf(ruling) : null;
  };
}

function deniedBy(ruling: Ruling): Execution {
  const { rule, reason } = ruling;
  const details = { rule, ...(reason === null ? {} : { reason }) };
  return refused('policy_denied', `The call is ${denialOf(ruling)}`, details);
}

/** Names the rule and its reason, and nothing of the call. */
function denialOf({ rule, reason, failed }: Ruling): string {
  const by = rule === null ? 'by the default of the policy' : `by the rule "${rule}"`;
  const why = failed === undefined ? '' : `, which could not be evaluated (${failed})`;
  return `denied ${by}${why}${reason === null ? '' : `: ${reason}`}`;
}

/** The last question was another one than about the call. */
function unasked({ rule }: Ruling): Execution {
  const asker = rule === null ? 'The default of the policy' : `The rule "${rule}"`;
  const message = `${asker} asks about the cheaper models of a budget, and the call has asked something else before`;
  return refused('policy_denied', message, { rule });
}

function refused(type: string, message: string, details: Record<string, unknown> = {}): Execution {
  return { result: errorResult(errorEnvelope(type, message, details)), unsent: true };
}

interface AskedFor {
  readonly patienceMs: number;
  /** null: the configuration of the server asks. */
  readonly ruled: Ruling | null;
}

/** The state binds the decision to the content of the directive, which its digest names. */
function approvalOf(
  { digest, lane }: Claimed,
  directive: Directive,
  { patienceMs, ruled }: AskedFor,
): AskedQuestions {
  const why = ruled?.reason ? `: ${ruled.reason.replace(/\.$/, '')}` : '';
  const rule = ruled?.rule ? `The rule "${ruled.rule}" asks${why}. ` : '';
  const other = isOther(ruled) ? 'Another caller than its submitter must approve it. ' : '';
  const message = `Approve the call of \`${toolOf(directive, lane)}\`? ${rule}${other}${argumentsText(directive, digest)}`;
  const schema = { type: 'object', properties: {} };
  return {
    questions: [{ key: APPROVAL_KEY, question: { mode: 'form', message, schema } }],
    state: digest,
    endpoint: OWN_ENDPOINT,
    patienceMs,
    afresh: false,
    stopsDeadline: true,
    ...(isOther(ruled) ? { approver: 'other' as const } : {}),
  };
}

/** Besides them the message has the name of the tool, the rule and its reason. */
const SHOWN = QUESTION_LIMITS.messageCharacters - 1_024;

function argumentsText(directive: Directive, digest: string): string {
  if (isEncrypted(directive)) return `Its arguments are encrypted (digest ${digest}).`;
  const given = 'arguments' in directive ? directive.arguments : {};
  const text = JSON.stringify(redact(jsonSafe(given ?? {})));
  return text.length <= SHOWN
    ? `Arguments: ${text}`
    : `Its arguments are longer than a question (digest ${digest}): read the directive.`;
}

function toolOf(directive: Directive, lane: string): string {
  return 'tool_name' in directive ? toolNameIn(lane, String(directive.tool_name)) : directive.type;
}
