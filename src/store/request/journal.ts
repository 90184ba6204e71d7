// The journal: the record of requests and directives in Redis, and the only way to change it.
// Must never decide what an outcome means; it decides only whether a change is still allowed.
import {
  closedMsOf,
  type LimitsOfTenant,
  NO_TENANT_LIMITS,
  requestBytesOf,
} from '../../contract/access/tenant-limits.ts';
import type { Later } from '../../contract/directive/later.ts';
import { isPassing, PASSING_KEPT_MS } from '../../contract/tool/server-read.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { acceptanceWords, announced, keysTogether } from './acceptance-words.ts';
import { createAnnouncer } from '../index/announcer.ts';
import type { LaterAnnouncement } from '../index/later-index.ts';
import type { NoteEnded } from '../index/archive-queue.ts';
import { createClaimHolder } from './claim-holder.ts';
import { requestClaim } from './claim-request.ts';
import { createEndings } from './endings.ts';
import type { KeySpace } from '../keys.ts';
import { keyText, type OnceRef, type OnceVerdict, onceVerdict, releaseOnce, type UnderKey } from './once.ts';
import { createQuestions } from './questions.ts';
import { createSignalLog } from '../log/signal-log.ts';
import { createRecordReader } from './record-reader.ts';
import type { DirectiveRecord } from './records.ts';
import { prepareScripts, type RunScript } from '../scripts.ts';
import { createWaitNotes } from './wait-note.ts';
import {
  acceptVerdict,
  type AcceptVerdict,
  type CancelVerdict,
  claimVerdict,
  type ClaimVerdict,
  type EndStatus,
  runVersion,
} from './verdicts.ts';
import { writeSignal } from '../log/stored-signal.ts';
import { MOST_SCORES, SCORE_SIGNAL } from '../../contract/case/score.ts';
import { draftSignal } from '../log/signal-draft.ts';

/** One directive as it is handed to `accept`. `end` makes it terminal at once (immediate directives). */
export interface Acceptance {
  id: string;
  type: string;
  digest: string;
  lane: string | null;
  /** From when it may begin. */
  deadlineMs: number;
  /** Default: it begins as soon as it can. */
  later?: Later | null | undefined;
  envelope: string;
  end?: { status: EndStatus; signal: SignalDraft };
  /** Its BullMQ job, without the member `deadline_at`. Default: it gets none, or a script has none to write. */
  job?: { data: object; options: object } | undefined;
  /** Its end may cause a notification. Default: false. */
  noticed?: boolean;
}

/**
 * If it is still open `afterMs` from now, by the clock of Redis, the sweeper checks it; a directive that begins later
 * is enqueued then.
 */
export interface Announcement {
  id: string;
  afterMs: number;
  /** `when`: as in `Later`. Absent: it has no instant to begin at. */
  later?: LaterAnnouncement | undefined;
}

/** The records that are written together with an acceptance where all keys are in one slot; see `queue/entrance.ts`. */
export interface WithAcceptance {
  /** How long after it the request's row of the list is due, milliseconds; null: it is not listed, or the caller notes it. */
  rowAfterMs: number | null;
  /** Times of the sweeper's checks, milliseconds from now by the clock of Redis; at most 1,001. */
  announcements: readonly Announcement[];
  /** The base of the keys of the one lane of all that stays open; null: the caller enqueues. */
  laneBase: string | null;
}

export interface AcceptOptions {
  /** Channel on which the ends of these directives are announced, beside the request's log. Default: only there. */
  inbox?: string | undefined;
  /** Default: the caller announces and enqueues. */
  together?: WithAcceptance | undefined;
}

export interface JournalOptions {
  connection: RedisConnection;
  keys: KeySpace;
  /** How long a closed request stays readable, milliseconds. */
  retentionMs: number;
  /** The most bytes that a request holds: its log, what was accepted, its run, its payloads. Default: 64 MiB. */
  requestBytes?: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
  /**
   * A directive of a run has ended, and the run, then of `version`, has it to read. Never rejects. Default: no run is woken.
   */
  wakeRun?: (requestId: string, version: number) => Promise<void>;
  /**
   * Called when a directive or run of the request has ended here, and the request may be closed by it. Default: not
   * called.
   */
  onEnd?: ((requestId: string) => void) | undefined;
  /**
   * Called when a list of requests shows this one differently now, without an entry of the sweep index. Default: not
   * called.
   */
  onChange?: ((requestId: string) => void) | undefined;
  /** Called before a directive ends as it is accepted: no index names it. Default: not called. */
  noteEnded?: NoteEnded | undefined;
}

export interface ClaimRequest {
  requestId: string;
  id: string;
  digest: string;
  leaseMs: number;
  /** New for each claim, the same when it is repeated because no answer came: a repeat is the same grant. */
  token: string;
  /** The lane in which the worker took the job; absent: wherever the directive is. */
  lane?: string;
  /** Appended at the first claim only. */
  started?: SignalDraft;
}

export const DEFAULT_REQUEST_BYTES = 64 * 1_024 * 1_024;

export type Journal = ReturnType<typeof createJournal>;

/** Opens the journal on a connection it does not own. All methods reject when Redis does not answer. */
export function createJournal(options: JournalOptions) {
  const { connection, keys, retentionMs, wakeRun, requestBytes, onEnd, onChange, noteEnded } = options;
  const run = prepareScripts(connection);
  const announce = createAnnouncer(connection, keys, run);
  const { limitsOf = NO_TENANT_LIMITS } = options;
  const mostBytes = (requestId: string): number =>
    requestBytesOf(limitsOf, requestId, requestBytes ?? DEFAULT_REQUEST_BYTES);

  function keptMs(requestId: string): number {
    const closedMs = closedMsOf(limitsOf, requestId, retentionMs);
    return isPassing(requestId) ? Math.min(closedMs, PASSING_KEPT_MS) : closedMs;
  }

  async function wake<V extends object>(requestId: string, verdict: V): Promise<V> {
    const version = 'run' in verdict ? (verdict.run as number | null) : null;
    if (version !== null) await wakeRun?.(requestId, version);
    return verdict;
  }

  async function accept(
    requestId: string,
    batch: readonly Acceptance[],
    how?: AcceptOptions,
  ): Promise<AcceptVerdict>;
  /** Under a key: one directive. `requestId`: where it begins, if it does. */
  async function accept(
    requestId: string,
    batch: readonly Acceptance[],
    how: AcceptOptions & { key: UnderKey },
  ): Promise<OnceVerdict>;
  async function accept(
    requestId: string,
    batch: readonly Acceptance[],
    { inbox = '', together, key }: AcceptOptions & { key?: UnderKey } = {},
  ): Promise<AcceptVerdict | OnceVerdict> {
    const first = [keptMs(requestId), inbox, mostBytes(requestId), keyText(key)];
    const args = [...first, ...announced(together), ...acceptanceWords(requestId, batch, together)];
    const ends = batch.some(({ end }) => end !== undefined);
    if (ends) await noteEnded?.([requestId], 'perhaps');
    const reply = await run('accept', [...keys.request(requestId), ...keysTogether(keys, together)], args);
    const verdict = key === undefined ? acceptVerdict(reply) : onceVerdict(requestId, reply);
    if (ends && verdict.kind === 'ok') onEnd?.(requestId);
    return wake(requestId, verdict);
  }

  async function claim(request: ClaimRequest): Promise<ClaimVerdict> {
    return wake(
      request.requestId,
      claimVerdict(await requestClaim(run, { connection, keys, announce }, request)),
    );
  }

  /** The claim that came with a job, as include-claim.lua answers. */
  async function claimedWithJob(requestId: string, verdict: ClaimVerdict): Promise<ClaimVerdict> {
    return wake(requestId, verdict);
  }

  /**
   * `signal` ends the directive if nothing runs; `reason` is kept for the worker if something does, unless that is to be spared.
   * `seen`: as the directive was when the signal was written, which says how far it came; absent: whatever it is.
   */
  async function cancel(
    requestId: string,
    id: string,
    signal: SignalDraft,
    reason = '',
    seen?: SeenState,
    spareRunning = false,
  ): Promise<CancelVerdict> {
    const args = [id, keptMs(requestId), writeSignal(requestId, signal), reason, stateOf(seen)];
    const reply = await run('cancel', keys.request(requestId), [...args, spareRunning ? 1 : 0]).catch(
      (error: unknown) => {
        // Redis may have written it and not answered.
        onChange?.(requestId);
        throw error;
      },
    );
    if (reply[0] === 'already') return { kind: 'already', status: reply[1] as EndStatus };
    if (reply[0] !== 'ended') return { kind: reply[0] as 'requested' | 'running' | 'changed' | 'unknown' };
    onEnd?.(requestId);
    onChange?.(requestId);
    return wake(requestId, { kind: 'ended', run: runVersion(reply[2]) });
  }

  /** `kept`: the gate that it enters from now on reads it. */
  async function prioritize(
    requestId: string,
    id: string,
    priority: number,
  ): Promise<'kept' | 'running' | 'ended' | 'unknown'> {
    const [kind] = await run('prioritize', keys.request(requestId), [id, priority]);
    return kind as 'kept' | 'running' | 'ended' | 'unknown';
  }

  /** `other` repeats the request or was forked from it; above `most` it is not noted. A repeat changes nothing. */
  async function noteDescendant(requestId: string, other: string, most: number): Promise<void> {
    await run('descend', keys.request(requestId), [other, most]);
  }

  return {
    accept,
    noteDescendant,
    claim,
    claimedWithJob,
    keptMs,
    releaseOnce: (ref: OnceRef) => releaseOnce(run, keys, ref),
    ...createEndings({ ...options, run, wake, keptMs, mostBytes }),
    cancel,
    prioritize,
    ...createClaimHolder(run, keys, mostBytes),
    ...createScores(run, keys, mostBytes),
    ...createWaitNotes(run, keys, mostBytes),
    questions: createQuestions(run, { connection, keys, mostBytes, onChange }),
    ...createRecordReader(connection, keys),
    log: createSignalLog({ keys, run, together: !connection.isCluster, mostBytes }),
  };
}

/** As cancel.lua compares it; '' = whatever it is. */
type SeenState = Pick<DirectiveRecord, 'status' | 'fence' | 'startedAt'>;

/** As cancel.lua compares it. */
function stateOf(seen: SeenState | undefined): string {
  return seen ? `${seen.status}/${seen.fence}${seen.startedAt === null ? '' : '/begun'}` : '';
}

type ScoreVerdict =
  | { readonly kind: 'recorded' | 'known' | 'conflict'; readonly sequence: number }
  | { readonly kind: 'no_room'; readonly bytes: number; readonly limit: number }
  | { readonly kind: 'unknown' | 'too_many' };

export interface StoredScore {
  readonly id: string;
  readonly digest: string;
  readonly data: object;
  readonly traceparent: string;
}

/** `mostBytes`: the most that a request holds. */
function createScores(run: RunScript, keys: KeySpace, mostBytes: (requestId: string) => number) {
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
    if (kind === 'recorded' || kind === 'known' || kind === 'conflict')
      return { kind, sequence: Number(number) };
    if (kind === 'no_room') return { kind, bytes: Number(number), limit };
    return { kind: kind === 'too_many' ? kind : 'unknown' };
  }

  return { score, note };
}
