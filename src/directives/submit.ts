// The way in: identifies, routes, accepts and jobs for a batch of directives.
// Must never answer before the journal holds every directive of the batch.
import { type LimitsOfTenant, NO_TENANT_LIMITS, requestBytesOf } from '../contract/access/tenant-limits.ts';
import { ownId } from '../contract/access/tenant.ts';
import type { EndNotices } from '../contract/signal/end-notices.ts';
import { requestLinks } from '../contract/api-path.ts';
import type { Directive, ParsedDirective } from '../contract/directive/directive.ts';
import type { SubmitOptions } from '../contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { Submission } from '../contract/directive/submission.ts';
import type { Journal } from '../store/request/journal.ts';
import { NO_OBJECTS, type PayloadObjects } from '../store/request/large-payloads.ts';
import type { SweepIndex } from '../store/index/sweep-index.ts';
import type { AcceptVerdict } from '../store/request/verdicts.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import { isTraceparent, newTraceparent } from '../platform/telemetry/traces/trace-context.ts';
import type { Reports } from '../platform/telemetry/reports.ts';
import type { Canceller } from './change/cancel.ts';
import type { Capacity } from './capacity.ts';
import type { Entrance, Entry } from '../queue/entrance.ts';
import { identify, keyedIds } from './identify.ts';
import { createKeptPayloads } from './kept-payloads.ts';
import type { CallNotice } from './sweep/notice.ts';
import {
  announcementsOf,
  callEnded,
  jobsOf,
  noticesOf,
  onlyLaneOf,
  type Prepared,
  type Preparer,
  reportImmediate,
  reportSent,
  type Sealing,
  withLane,
} from './prepare.ts';
import { NO_NOTES, type PendingNote, type SpanNotes } from './read/span-note.ts';
import { openIds, requireWithin, reserveFor } from './submission-bounds.ts';
import { createOnceSubmitter } from './submit-once.ts';
import { keyConflict } from './under-key.ts';
import { onceIn } from './once-request.ts';
import { requestFull } from './read/not-found.ts';
import { passingRefusal } from './reserved-ids.ts';

export interface SubmitterOptions {
  journal: Journal;
  entrance: Entrance;
  preparer: Preparer;
  capacity: Capacity;
  /** The largest member of one directive (arguments, context, texts, tools, error, metadata), bytes as JSON. */
  argumentsBytes: number;
  /** Where large directives lie. Default: in Redis. */
  objects?: PayloadObjects;
  /** Option of `JournalOptions`. */
  requestBytes: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
  /** Default: nothing is traced. */
  spans?: Spans;
  /** Default: spans of a process that dies are lost. */
  notes?: SpanNotes;
  reports: Reports;
  /** Ends what a submission replaces. */
  canceller: Pick<Canceller, 'cancelEach'>;
  index: Pick<SweepIndex, 'announce' | 'lookWithin' | 'withdraw'>;
  /** Whom callers may have notified. Default: endpoints by any name. */
  endNotices?: EndNotices;
  /** Default: the sweeper notifies of ends. */
  callNotice?: CallNotice;
}

export interface InternalSubmitOptions extends Pick<SubmitOptions, 'idempotencyKey' | 'traceparent'> {
  /** Channel on which the ends of newly accepted directives are announced. */
  replyChannel?: string | undefined;
  /** Default: the caller has encrypted what is encrypted, under its own id. */
  sealing?: Sealing;
}

const BY_CALLER: Sealing = { callersContext: true };

export type Submitter = ReturnType<typeof createSubmitter>;

export function createSubmitter(options: SubmitterOptions) {
  const { journal, entrance, preparer, capacity } = options;
  const { spans = NO_SPANS, notes = NO_NOTES, limitsOf = NO_TENANT_LIMITS } = options;
  const submitOnce = createOnceSubmitter(options);
  const payloads = createKeptPayloads({ objects: options.objects ?? NO_OBJECTS, journal });

  /** Throws `DirectiveRefused` for conflicts; rejects with Redis' own error when it does not answer. */
  async function submit(
    parsed: readonly ParsedDirective[],
    { idempotencyKey, traceparent, replyChannel, sealing = BY_CALLER }: InternalSubmitOptions = {},
  ): Promise<Submission> {
    const { requestId, directives } = identify(parsed, idempotencyKey);
    const refused = passingRefusal(requestId, directives);
    if (refused !== null) throw new DirectiveRefused(refused);
    const startedAt = spans.now();
    const trace = spans.decided(isTraceparent(traceparent) ? traceparent : newTraceparent());
    const once = onceIn(directives);
    if (once !== null) return submitOnce(once, { trace, startedAt, idempotencyKey, replyChannel, sealing });
    const prepared = await preparer.prepare(directives, trace, undefined, sealing);
    requireWithin(options, directives, prepared);
    const leave = await reserveFor(capacity, requestId, prepared);
    const kept = await payloads.keep(requestId, prepared).catch(async (error: unknown) => {
      await leave(openIds(prepared));
      throw error;
    });
    const note = notes.noteOf(requestId, { under: trace, prepared });
    const verdict = await entrance
      .enter(entryOf(requestId, kept, note, replyChannel))
      .catch((error: unknown) => {
        reportSent(spans, prepared, startedAt, 'unavailable');
        note.release();
        throw error;
      });
    if (verdict.kind !== 'ok') note.forget();
    await leave(notAccepted(prepared, verdict));
    await payloads.dropRefused(requestId, kept, verdict);
    if (verdict.kind === 'no_room')
      throw requestFull(requestId, verdict.bytes, requestBytesOf(limitsOf, requestId, options.requestBytes));
    if (verdict.kind === 'conflict')
      throw conflict(requestId, prepared, verdict, isKeyed(requestId, idempotencyKey));
    const accepted = kept.filter((_, position) => verdict.verdicts[position] === 'accepted');
    reportSent(spans, accepted, startedAt);
    note.release();
    reportImmediate(options.reports, accepted);
    callEnded(accepted, options.callNotice);
    return submissionOf(requestId, prepared, verdict.verdicts);
  }

  function entryOf(
    requestId: string,
    prepared: readonly Prepared[],
    note: PendingNote,
    replyChannel: string | undefined,
  ): Entry<AcceptVerdict> {
    const open = withLane(prepared);
    const acceptances = prepared.map(({ acceptance }) => acceptance);
    return {
      requestId,
      announcements: [...announcementsOf(open), ...noticesOf(prepared), ...note.announcements],
      accept: (together) => journal.accept(requestId, acceptances, { inbox: replyChannel, together }),
      jobsOf: (verdict) =>
        verdict.kind === 'ok' ? jobsOf(asAccepted(prepared, verdict.verdicts), verdict.acceptedAt) : null,
      onlyLane: onlyLaneOf(open),
      wereThere: (verdict) => notAccepted(prepared, verdict),
    };
  }

  return { submit };
}

/** Directives with a lane; one that was there before and has a ticket is in the gate already. */
function asAccepted(prepared: readonly Prepared[], verdicts: readonly string[]): Prepared[] {
  return prepared.filter(
    ({ acceptance, ticket }, position) =>
      acceptance.lane !== null && (ticket === null || verdicts[position] !== 'existing'),
  );
}

/** The ids of all that this submission does not open. */
function notAccepted(prepared: readonly Prepared[], verdict: AcceptVerdict): string[] {
  const verdicts = verdict.kind === 'ok' ? verdict.verdicts : [];
  return prepared.flatMap(({ acceptance }, position) =>
    verdicts[position] === 'accepted' ? [] : [acceptance.id],
  );
}

/** The ids were made of the idempotency key, which the caller knows instead. */
function isKeyed(requestId: string, idempotencyKey: string | undefined): boolean {
  return idempotencyKey !== undefined && ownId(requestId) === keyedIds(idempotencyKey).request;
}

function conflict(
  requestId: string,
  prepared: readonly Prepared[],
  { id, storedDigest }: { id: string; storedDigest: string },
  isOfKey: boolean,
): DirectiveRefused {
  const position = prepared.findLastIndex(
    ({ acceptance }) => acceptance.id === id && acceptance.digest !== storedDigest,
  );
  const path = prepared.length === 1 ? 'id' : `directives[${position}].id`;
  if (isOfKey) return new DirectiveRefused(keyConflict());
  return new DirectiveRefused(
    problem('id_conflict', {
      detail: `request "${ownId(requestId)}" holds another directive with the id "${id}"; nothing was accepted`,
      errors: [{ path, message: 'this id was accepted with other content' }],
      digests: { submitted: prepared[position]?.acceptance.digest ?? null, stored: storedDigest },
    }),
  );
}

function submissionOf(
  requestId: string,
  prepared: readonly Prepared[],
  verdicts: readonly ('accepted' | 'existing')[],
): Submission {
  return {
    request_id: ownId(requestId),
    directives: prepared.map(({ acceptance }, position) => ({
      id: acceptance.id,
      type: acceptance.type as Directive['type'],
      status: verdicts[position] ?? 'accepted',
      lane: acceptance.lane,
      digest: acceptance.digest,
    })),
    links: requestLinks(ownId(requestId)),
  };
}
