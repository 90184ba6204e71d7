// Submission of a directive under a key: accepted where it begins, else answered with the one that represents it. A
// directive that only joins another one never begins, and only started ones are counted.
import { requestLinks } from '../contract/api-path.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import { DirectiveRefused } from '../contract/problem.ts';
import type { Submission } from '../contract/directive/submission.ts';
import { NO_TENANT_LIMITS, requestBytesOf } from '../contract/access/tenant-limits.ts';
import { ownId } from '../contract/access/tenant.ts';
import { contentDigest } from '../store/request/content-digest.ts';
import type { OnceVerdict, UnderKey } from '../store/request/once.ts';
import type { LeaveTenant } from '../store/limits/tenant-room.ts';
import { ATTRIBUTE } from '../platform/telemetry/traces/semantic-names.ts';
import { NO_SPANS } from '../platform/telemetry/traces/spans.ts';
import type { Entry } from '../queue/entrance.ts';
import { keyedIds } from './identify.ts';
import { type OnceDirective, uniqueOf } from './once-request.ts';
import { outcomeAttributes } from './read/once-span.ts';
import {
  announcementsOf,
  callEnded,
  jobsOf,
  noticesOf,
  onlyLaneOf,
  type Prepared,
  reportImmediate,
  reportSent,
  type Sealing,
  withLane,
} from './prepare.ts';
import { NO_NOTES, type PendingNote } from './read/span-note.ts';
import { requireWithin, reserveFor } from './submission-bounds.ts';
import type { SubmitterOptions } from './submit.ts';
import {
  answerOf,
  followDecision,
  keptErrors,
  keyConflict,
  type OnceAccepted,
  openProblem,
  REPLACED,
  roomOrReason,
} from './under-key.ts';
import { requestFull } from './read/not-found.ts';

export interface OnceSubmission {
  readonly trace: string;
  readonly startedAt: number;
  readonly idempotencyKey: string | undefined;
  readonly replyChannel: string | undefined;
  readonly sealing: Sealing;
}

/** A submission in progress. */
interface Coming {
  readonly requestId: string;
  readonly prepared: Prepared;
  readonly key: UnderKey;
  readonly note: PendingNote;
  readonly replyChannel: string | undefined;
}

export function createOnceSubmitter(options: SubmitterOptions) {
  const { journal, entrance, preparer, spans = NO_SPANS, notes = NO_NOTES } = options;

  /** Throws `DirectiveRefused`; rejects with Redis' own error when it does not answer. */
  async function submitOnce(given: OnceDirective, submission: OnceSubmission): Promise<Submission> {
    const { directive, once } = given;
    const { trace, startedAt, idempotencyKey, replyChannel, sealing } = submission;
    const { request_id: requestId } = directive;
    const errors = keptErrors(once, journal.keptMs(requestId));
    if (errors.length > 0) throw refusedAt('invalid_body', errors);
    const token = idempotencyKey === undefined ? uniqueOf(requestId) : keyedIds(idempotencyKey).request;
    const [routed] = await preparer.prepare([directive], trace, undefined, sealing);
    const prepared = underKey(routed as Prepared, given, token);
    requireWithin(options, [directive], [prepared]);
    const room = await roomOrReason(reserveFor(options.capacity, requestId, [prepared]));
    const note = notes.noteOf(requestId, { under: trace, prepared: [prepared] });
    const key = { once, token, hasRoom: room.full === null, reason: REPLACED };
    const coming = { requestId, prepared, key, note, replyChannel };
    const verdict = await entrance.enter(entryOf(coming)).catch((error: unknown) => {
      reportSent(spans, [prepared], startedAt, 'unavailable');
      note.release();
      throw error;
    });
    const begins = verdict.kind === 'ok' && verdict.verdict === 'accepted';
    await (begins ? room.leave([]) : withdrawn(options, coming, room.leave));
    if (verdict.kind !== 'ok') throw refusalOf(options, requestId, verdict) ?? room.full;
    if (begins) {
      reportSent(spans, [saidOf(prepared, verdict)], startedAt);
      note.release();
      reportImmediate(options.reports, [prepared]);
      callEnded([prepared], options.callNotice);
    } else reportSent(spans, [standInOf(prepared, verdict)], startedAt);
    return submissionOf(options, prepared, verdict);
  }

  function entryOf({ requestId, prepared, key, note, replyChannel }: Coming): Entry<OnceVerdict> {
    const open = withLane([prepared]);
    return {
      requestId,
      announcements: [...announcementsOf(open), ...noticesOf([prepared]), ...note.announcements],
      accept: (together) =>
        journal.accept(requestId, [prepared.acceptance], { inbox: replyChannel, together, key }),
      jobsOf: (verdict) =>
        verdict.kind === 'ok' ? jobsOf(begunOf(open, requestId, verdict), verdict.now) : null,
      onlyLane: onlyLaneOf(open),
      changes: (verdict) => (verdict.kind === 'ok' ? verdict.of.requestId : requestId),
      wereThere: (verdict) =>
        verdict.kind === 'ok' && verdict.verdict === 'accepted' ? [] : [prepared.acceptance.id],
    };
  }

  return submitOnce;
}

/** With what became of it. */
function saidOf(prepared: Prepared, verdict: OnceAccepted): Prepared {
  const { span } = prepared;
  if (span === null) return prepared;
  const attributes = { ...span.attributes, ...outcomeAttributes(verdict) };
  return { ...prepared, span: { ...span, attributes } };
}

/** Its span names the directive that represents it, which may be of another trace. */
function standInOf(prepared: Prepared, verdict: OnceAccepted): Prepared {
  const said = saidOf(prepared, verdict);
  if (said.span === null) return said;
  const { requestId, id } = verdict.of;
  const attributes = {
    ...said.span.attributes,
    [ATTRIBUTE.messagingSystem]: undefined,
    [ATTRIBUTE.messagingOperation]: undefined,
    [ATTRIBUTE.messagingOperationType]: undefined,
    [ATTRIBUTE.messagingMessageId]: undefined,
    [ATTRIBUTE.messagingConversation]: undefined,
    [ATTRIBUTE.request]: ownId(requestId),
    [ATTRIBUTE.directive]: id,
  };
  const name = `once ${prepared.acceptance.lane ?? ''}`.trimEnd();
  return { ...said, span: { ...said.span, name, kind: 'internal', attributes } };
}

/** It has not begun: what was announced of it, and counted, goes. */
async function withdrawn(
  { index }: SubmitterOptions,
  { requestId, prepared, note }: Coming,
  leave: LeaveTenant,
): Promise<void> {
  const { id } = prepared.acceptance;
  note.forget();
  const ids = [id, ...noticesOf([prepared]).map((notice) => notice.id)];
  await index.withdraw(ids.map((each) => ({ requestId, id: each }))).catch(() => {});
  await leave([id]);
}

function refusalOf(
  options: SubmitterOptions,
  requestId: string,
  verdict: Exclude<OnceVerdict, OnceAccepted>,
): DirectiveRefused | null {
  if (verdict.kind === 'open') return new DirectiveRefused(openProblem(verdict));
  if (verdict.kind === 'conflict') return new DirectiveRefused(keyConflict());
  if (verdict.kind === 'full') return null;
  const limit = requestBytesOf(options.limitsOf ?? NO_TENANT_LIMITS, requestId, options.requestBytes);
  return requestFull(requestId, verdict.bytes, limit);
}

/** The directive that represents it may be of another type, in another lane. */
async function submissionOf(
  { journal, index, canceller }: SubmitterOptions,
  { acceptance, noticed }: Prepared,
  verdict: OnceAccepted,
): Promise<Submission> {
  const { of } = verdict;
  // What is replaced is marked already: no attempt begins, and the one that runs is stopped by its next heartbeat at the latest.
  await followDecision(index, verdict, noticed, async ({ requestId, id }) =>
    canceller.cancelEach(requestId, [id], REPLACED),
  );
  const there = verdict.verdict === 'existing' ? await journal.directive(of.requestId, of.id) : null;
  const { type, lane, digest } = there ?? acceptance;
  const request_id = ownId(of.requestId);
  return {
    request_id,
    directives: [
      {
        id: of.id,
        type: type as Submission['directives'][number]['type'],
        status: verdict.verdict,
        lane,
        digest,
        once: answerOf(verdict),
      },
    ],
    links: requestLinks(request_id),
  };
}

/**
 * The digest is that of one submission: so a worker that holds a body knows whether it still counts, whatever took its place
 * in between.
 */
function underKey(routed: Prepared, { directive, once }: OnceDirective, token: string): Prepared {
  const digest = contentDigest({ ...directive, id: '', request_id: token });
  const { acceptance } = routed;
  const job = { ...routed.job, digest };
  const startByMs = acceptance.later?.startByMs ?? null;
  const quiet =
    once.kind === 'debounce' && acceptance.lane !== null
      ? { later: { when: `d${Math.min(once.quietMs, once.atMostMs)}`, startByMs } }
      : {};
  const ofLane = acceptance.job && { job: { ...acceptance.job, data: job } };
  return { ...routed, acceptance: { ...acceptance, digest, ...quiet, ...ofLane }, job };
}

/** Directives that get a job here: none that waits for another one, and none that began before under another id. */
function begunOf(open: readonly Prepared[], requestId: string, verdict: OnceAccepted): Prepared[] {
  const { verdict: status, of, outcome, waits } = verdict;
  if (waits || of.requestId !== requestId) return [];
  if (status === 'accepted') return [...open];
  // Whoever submitted it first may have died; it may wait for another one, which the sweeper knows.
  return outcome === 'replaced' ? [] : [...open];
}
