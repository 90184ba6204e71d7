// The way in: identifies, routes, accepts and jobs for a batch of directives.
// Must never answer before the journal holds every directive of the batch.
import type { Directive, ParsedDirective } from '../contract/directive.ts';
import type { SubmitOptions } from '../contract/directive-client.ts';
import { DirectiveRefused, type FieldError, problem } from '../contract/problem.ts';
import type { Submission } from '../contract/submission.ts';
import type { Journal } from '../journal/journal.ts';
import type { SweepIndex } from '../journal/sweep-index.ts';
import { newIdentifier } from '../telemetry/identifier.ts';
import { isTraceparent, newTraceparent } from '../telemetry/trace-context.ts';
import type { Capacity } from './capacity.ts';
import type { Confirm } from './durability.ts';
import { identify } from './identify.ts';
import type { Lanes } from './lanes.ts';
import { type Prepared, type Preparer, enqueueAll } from './prepare.ts';
import { requestFull } from './request-full.ts';

export interface SubmitterOptions {
  journal: Journal;
  index: SweepIndex;
  lanes: Lanes;
  preparer: Preparer;
  capacity: Capacity;
  /** The largest member of one directive (arguments, context, texts, tools, error, metadata), bytes as JSON. */
  argumentsBytes: number;
  /** As in `JournalOptions`. */
  requestBytes: number;
  /** Begun before each acceptance; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
  /** Redis Cluster keeps no order between slots, so there the job is added after the acceptance is known. */
  ordered: boolean;
  /** Milliseconds on a clock that only goes forward. */
  now?: () => number;
  newId?: () => string;
}

export interface InternalSubmitOptions extends Pick<SubmitOptions, 'idempotencyKey' | 'traceparent'> {
  /** Channel on which the ends of newly accepted directives are announced. */
  inbox?: string | undefined;
}

export type Submitter = ReturnType<typeof createSubmitter>;

/** The sweeper looks at a directive this long after its submission, if it is still open. */
const FIRST_LOOK_MS = 5_000;
/** An acceptance slower than this may have been swept out of the index before it happened. */
const SLOW_ACCEPT_MS = 2_500;

export function createSubmitter(options: SubmitterOptions) {
  const { journal, index, lanes, preparer, capacity, confirm } = options;
  const now = options.now ?? (() => performance.now());
  const newId = options.newId ?? newIdentifier;

  /** Throws `DirectiveRefused` for conflicts; rejects with Redis' own error when it does not answer. */
  async function submit(
    parsed: readonly ParsedDirective[],
    { idempotencyKey, traceparent, inbox }: InternalSubmitOptions = {},
  ): Promise<Submission> {
    const { requestId, directives } = identify(parsed, idempotencyKey, newId);
    const trace = isTraceparent(traceparent) ? traceparent : newTraceparent();
    const prepared = await preparer.prepare(directives, trace);
    requireBounded(directives, prepared, options.argumentsBytes);
    await capacity.reserve(additionsOf(prepared));
    const confirmed = await confirm();
    const verdicts = await acceptAndRing(requestId, prepared, inbox);
    await confirmed?.();
    return submissionOf(requestId, prepared, verdicts);
  }

  async function acceptAndRing(
    requestId: string,
    prepared: readonly Prepared[],
    inbox: string | undefined,
  ): Promise<('accepted' | 'existing')[]> {
    const open = prepared.filter(({ acceptance }) => acceptance.lane !== null);
    const refs = open.map(({ acceptance }) => ({ requestId, id: acceptance.id }));
    const begunAt = now();
    const indexed = refs.length > 0 ? index.announce(refs, firstLookMs(open)) : Promise.resolve();
    if (!options.ordered) await indexed;
    const accepting = journal.accept(
      requestId,
      prepared.map(({ acceptance }) => acceptance),
      inbox,
    );
    // One directive on one connection: Redis takes the three commands in this order, in one round trip.
    const alone = prepared.length === 1 && open.length === 1;
    const enqueued = options.ordered && alone ? enqueueAll(lanes, open) : undefined;
    enqueued?.catch(() => {});
    const [verdict] = await Promise.all([accepting, indexed]);
    if (verdict.kind !== 'ok' && enqueued) await removeJobs(requestId, open, enqueued).catch(() => {});
    if (verdict.kind === 'no_room') throw requestFull(requestId, verdict.bytes, options.requestBytes);
    if (verdict.kind === 'conflict') throw conflict(requestId, prepared, verdict);
    if (refs.length > 0 && now() - begunAt > SLOW_ACCEPT_MS) await index.announce(refs, 0);
    // The directives are durable: a ring that fails is repeated by the sweeper.
    await (enqueued ?? enqueueAll(lanes, asAccepted(prepared, verdict.verdicts))).catch(() => {});
    return verdict.verdicts;
  }

  /** What was refused leaves no job: in a lane that nobody serves it would stay. In its own lane the taken id keeps its job. */
  async function removeJobs(
    requestId: string,
    open: readonly Prepared[],
    enqueued: Promise<void>,
  ): Promise<void> {
    await enqueued;
    for (const { acceptance } of open) {
      const taken = await journal.directive(requestId, acceptance.id);
      if (acceptance.lane !== null && taken?.lane !== acceptance.lane)
        await lanes.removeJob(acceptance.lane, requestId, acceptance.id);
    }
  }

  return { submit };
}

/** What has a lane; of what was there before, the journal has the body with its trace, and the ring brings no other. */
function asAccepted(prepared: readonly Prepared[], verdicts: readonly string[]): Prepared[] {
  return prepared
    .map((each, position) => {
      const { request_id, id, digest } = each.job;
      return verdicts[position] === 'existing' ? { ...each, job: { request_id, id, digest } } : each;
    })
    .filter(({ acceptance }) => acceptance.lane !== null);
}

/** How many directives each lane would get; '' stands for those that are answered at once. */
function additionsOf(prepared: readonly Prepared[]): Map<string, number> {
  const additions = new Map<string, number>();
  for (const { acceptance } of prepared) {
    const lane = acceptance.lane ?? '';
    additions.set(lane, (additions.get(lane) ?? 0) + 1);
  }
  return additions;
}

/** The envelope holds these members: where it fits, they do. */
function requireBounded(
  directives: readonly Directive[],
  prepared: readonly Prepared[],
  limit: number,
): void {
  const errors = directives.flatMap((directive, position) => {
    if ((prepared[position]?.acceptance.envelope.length ?? 0) * 3 <= limit) return [];
    const before = directives.length === 1 ? '' : `directives[${position}].`;
    return oversized(directive, limit).map((error) => ({ ...error, path: `${before}${error.path}` }));
  });
  if (errors.length > 0) throw new DirectiveRefused(problem('invalid_body', { errors }));
}

function oversized(directive: Directive, limit: number): FieldError[] {
  return Object.entries(directive).flatMap(([path, value]: [string, unknown]) => {
    const bytes = value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
    return bytes > limit ? [{ path, message: `has ${bytes} bytes as JSON, the limit is ${limit}` }] : [];
  });
}

/** Soon enough that a short deadline is not missed. */
function firstLookMs(open: readonly Prepared[]): number {
  return Math.min(FIRST_LOOK_MS, ...open.map(({ acceptance }) => acceptance.deadlineMs));
}

function conflict(
  requestId: string,
  prepared: readonly Prepared[],
  { id, storedDigest }: { id: string; storedDigest: string },
): DirectiveRefused {
  const position = prepared.findLastIndex(
    ({ acceptance }) => acceptance.id === id && acceptance.digest !== storedDigest,
  );
  const path = prepared.length === 1 ? 'id' : `directives[${position}].id`;
  return new DirectiveRefused(
    problem('id_conflict', {
      detail: `request "${requestId}" holds another directive with the id "${id}"; nothing was accepted`,
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
  const request = `/v1/requests/${encodeURIComponent(requestId)}`;
  return {
    request_id: requestId,
    directives: prepared.map(({ acceptance }, position) => ({
      id: acceptance.id,
      type: acceptance.type as Directive['type'],
      status: verdicts[position] ?? 'accepted',
      lane: acceptance.lane,
      digest: acceptance.digest,
    })),
    links: { request, signals: `${request}/signals` },
  };
}
