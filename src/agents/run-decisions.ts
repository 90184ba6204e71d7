// Decisions about calls and budgets that wait: records the first one, and says whose it was.
// Must never replace a decision, nor accept one about something that does not wait.
import { encodedIn, type EncodedPayload } from '../contract/encrypted/encrypted.ts';
import { isObject } from '../contract/json/json-object.ts';
import { DirectiveRefused, problem, type ProblemCode } from '../contract/problem.ts';
import type { ApprovalDecisionBody, RecordedDecision } from '../contract/run/run.ts';
import { ownId } from '../contract/access/tenant.ts';
import { contentDigest } from '../store/request/content-digest.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import type { RunClientParts } from './run-client.ts';
import { requireSealing } from './encryption/run-sealing.ts';
import { NO_SIGNALS } from './turn/run-store.ts';

export type DecisionParts = Pick<RunClientParts, 'runs' | 'store' | 'notifier' | 'view' | 'log'>;

export type DecideCall = (
  requestId: string,
  callId: string,
  body: ApprovalDecisionBody,
) => Promise<RecordedDecision>;

export function createDecide(parts: DecisionParts): DecideCall {
  const { runs, store, notifier, log } = parts;

  async function decide(
    requestId: string,
    callId: string,
    { decision, by, ...rest }: ApprovalDecisionBody,
  ): Promise<RecordedDecision> {
    await requireWaiting(requestId, callId);
    const encoded = encodedIn(rest.arguments);
    if (rest.arguments !== undefined)
      await requireSealing(runs, requestId, { path: 'arguments', isEncrypted: encoded !== null });
    const data = { call_id: callId, decision, ...rest };
    const signal = {
      type: 'ai.tool.approval_decided',
      data: { ...data, ...(by === undefined ? {} : { by }) },
    };
    // The same decision of two people is one.
    const notification = { name: decisionName(callId), digest: digestOf(data, encoded), limit: null, signal };
    const { kind } = await notifier.notify(requestId, notification, { cause: callId });
    if (kind === 'ended')
      throw refusal('request_closed', `the run of request "${ownId(requestId)}" has ended`);
    const who = await recorded(requestId, callId);
    if (kind === 'conflict') throw alreadyDecided(callId, who);
    if (kind !== 'sent' && kind !== 'existing') throw noRun(requestId);
    return { request_id: ownId(requestId), call_id: callId, decision, ...whoAndWhen(who) };
  }

  /** A decision is accepted only for a call that waits for one, or already has one. */
  async function requireWaiting(requestId: string, callId: string): Promise<void> {
    const run = await store.read(requestId, NO_SIGNALS);
    if (!run) throw noRun(requestId);
    const waits = run.document ? parts.view(run.spec, run.document).waiting_for : [];
    const asked = waits.some(({ kind, id }) => (kind === 'approval' || kind === 'budget') && id === callId);
    if (asked || (await runs.sentSequence(requestId, decisionName(callId))) !== null) return;
    throw refusal(
      'not_found',
      `nothing named "${callId}" waits for a decision in request "${ownId(requestId)}"`,
    );
  }

  /** The decision that holds; null: the log has it no more. */
  async function recorded(requestId: string, callId: string): Promise<Decided | null> {
    const sequence = await runs.sentSequence(requestId, decisionName(callId));
    const signal = sequence === null ? null : await log.at(requestId, sequence);
    return signal === null ? null : decidedOf(signal);
  }

  return (requestId, callId, body) => whileAvailable(() => decide(requestId, callId, body));
}

/** A payload that is encrypted again has another nonce. */
function digestOf(data: object, encoded: EncodedPayload | null): string {
  return contentDigest(encoded === null ? data : { ...data, arguments: { digest: encoded.digest } });
}

interface Decided {
  readonly decision: string;
  readonly by?: string;
  readonly decided_at: string;
}

function decidedOf({ data, time }: { data: unknown; time: string }): Decided | null {
  if (!isObject(data)) return null;
  const { decision, by } = data;
  return {
    decision: String(decision),
    ...(typeof by === 'string' ? { by } : {}),
    decided_at: time,
  };
}

function whoAndWhen(decided: Decided | null): Omit<Decided, 'decision'> | object {
  if (decided === null) return {};
  const { decision: _decision, ...rest } = decided;
  return rest;
}

/** `decided` of the problem: what holds, since when, and by whom if that person said so. */
function alreadyDecided(callId: string, decided: Decided | null): DirectiveRefused {
  if (decided === null)
    return refusal('already_decided', `the call "${callId}" has another decision already`);
  const { decision, by, decided_at } = decided;
  const how = decision === 'approve' ? 'approved' : 'denied';
  const who = by === undefined ? '' : ` by ${by}`;
  return refusal('already_decided', `the call "${callId}" was ${how} at ${decided_at}${who}`, { decided });
}

function decisionName(callId: string): string {
  return `decision:${callId}`;
}

function refusal(code: ProblemCode, detail: string, members: object = {}): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail, ...members }));
}

function noRun(requestId: string): DirectiveRefused {
  return refusal('not_found', `there is no run in a request "${ownId(requestId)}"`);
}
