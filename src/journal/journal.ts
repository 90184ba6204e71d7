// The journal: the record of requests and directives in Redis, and the only way to change it.
// Must never decide what an outcome means; it decides only whether a change is still allowed.
import { isPassing, PASSING_KEPT_MS } from '../contract/server-read.ts';
import type { Signal, SignalDraft } from '../contract/signal.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { createClaimHolder } from './claim-holder.ts';
import { requestClaim } from './claim-request.ts';
import type { KeySpace } from './keys.ts';
import { createQuestions } from './questions.ts';
import { createSignalLog } from './signal-log.ts';
import { createRecordReader } from './record-reader.ts';
import type { DirectiveRecord } from './records.ts';
import { prepareScripts } from './scripts.ts';
import { createWaitNotes } from './wait-note.ts';
import {
  acceptVerdict,
  type AcceptVerdict,
  type CancelVerdict,
  claimVerdict,
  type ClaimVerdict,
  type EndStatus,
  finishVerdict,
  type FinishVerdict,
  runVersion,
} from './verdicts.ts';

/** One directive as it is handed to `accept`. `end` makes it terminal at once (immediate directives). */
export interface Acceptance {
  id: string;
  type: string;
  digest: string;
  lane: string | null;
  deadlineMs: number;
  envelope: string;
  end?: { status: EndStatus; signal: SignalDraft };
}

/** What is written together with an acceptance where all keys are in one slot; see entrance.ts. */
export interface WithAcceptance {
  /** When the sweeper looks, milliseconds from now by the clock of Redis; at most 1,000. */
  announcements: readonly { id: string; afterMs: number }[];
  /** The base of the keys of the one lane of all that stays open. */
  laneBase: string;
  /** Larger envelopes do not travel in the job. */
  inlineBytes: number;
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
  /**
   * A directive of a run has ended, and the run, then of `version`, has it to read; `news` where that is all it has.
   * Never rejects. Default: nobody cares.
   */
  wakeRun?: (requestId: string, version: number, news?: RunNews) => Promise<void>;
  /**
   * Whether the engine that took a run's last turn may be told of an end, where it listens, instead of `wakeRun`: no engine of this
   * process takes the turn. Never on a cluster, where nobody knows who listens. Default: none is told.
   */
  mayTellEngine?: () => boolean;
  /** Something of the request has ended here, and the request may be closed by it. Default: nobody cares. */
  onEnd?: ((requestId: string) => void) | undefined;
}

/** The one signal that a run has not read. */
export interface RunNews {
  signal: Signal;
  /** When it was written: milliseconds since the epoch, by the clock of Redis. */
  now: number;
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

/** A claim's name: which directive, and which grant of it. */
export interface ClaimRef {
  requestId: string;
  id: string;
  fence: number;
}

export const DEFAULT_REQUEST_BYTES = 64 * 1_024 * 1_024;

export type Journal = ReturnType<typeof createJournal>;

/** Opens the journal on a connection it does not own. All methods reject when Redis does not answer. */
export function createJournal(options: JournalOptions) {
  const { connection, keys, retentionMs, wakeRun, mayTellEngine, requestBytes, onEnd } = options;
  const run = prepareScripts(connection);
  const mostBytes = requestBytes ?? DEFAULT_REQUEST_BYTES;

  const keptMs = (requestId: string): number =>
    isPassing(requestId) ? Math.min(retentionMs, PASSING_KEPT_MS) : retentionMs;

  async function wake<V extends object>(requestId: string, verdict: V, news?: RunNews): Promise<V> {
    const version = 'run' in verdict ? (verdict.run as number | null) : null;
    if (version !== null) await wakeRun?.(requestId, version, news);
    return verdict;
  }

  async function accept(requestId: string, batch: readonly Acceptance[], how: AcceptOptions = {}) {
    const args = acceptArguments(batch, how, [keptMs(requestId), how.inbox ?? '', mostBytes]);
    const others = how.together ? [keys.sweep, how.together.laneBase] : [];
    const verdict = acceptVerdict(await run('accept', [...keys.request(requestId), ...others], args));
    if (verdict.kind === 'ok' && batch.some((each) => each.end !== undefined)) onEnd?.(requestId);
    return wake<AcceptVerdict>(requestId, verdict);
  }

  async function claim(request: ClaimRequest): Promise<ClaimVerdict> {
    return wake(request.requestId, claimVerdict(await requestClaim(run, options, request)));
  }

  /** `attempted` false: the claim was used to record an end, not to make an attempt. `leavesTask`: what `keepTask` wrote stays. */
  async function finish(
    ref: ClaimRef,
    status: EndStatus,
    signals: readonly SignalDraft[],
    { attempted = true, leavesTask = false }: { attempted?: boolean; leavesTask?: boolean } = {},
  ): Promise<FinishVerdict> {
    const how = attempted ? (leavesTask ? 2 : 0) : 1;
    const args = [ref.id, ref.fence, status, keptMs(ref.requestId), how, mostBytes];
    return end(ref.requestId, args, signals);
  }

  /** Ends a directive without a claim: past its deadline, or ended by an operator. */
  async function endUnclaimed(
    requestId: string,
    id: string,
    status: EndStatus,
    signals: readonly SignalDraft[],
  ): Promise<FinishVerdict> {
    return end(requestId, [id, '', status, keptMs(requestId), 0, mostBytes], signals);
  }

  async function end(requestId: string, args: (string | number)[], signals: readonly SignalDraft[]) {
    const texts = signals.map((signal) => JSON.stringify(signal));
    const index = !connection.isCluster && mayTellEngine?.() ? [keys.sweep] : [];
    const reply = await run('finish', [...keys.request(requestId), ...index], [...args, ...texts]);
    const verdict = finishVerdict(reply);
    if (verdict.kind === 'ended' && verdict.closed) onEnd?.(requestId);
    if (verdict.kind === 'ended' && verdict.told) return verdict;
    return wake(requestId, verdict, newsOf(verdict, signals.at(-1)));
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
    seen?: Pick<DirectiveRecord, 'status' | 'fence'>,
    spareRunning = false,
  ): Promise<CancelVerdict> {
    const args = [id, keptMs(requestId), JSON.stringify(signal), reason, stateOf(seen), spareRunning ? 1 : 0];
    const reply = await run('cancel', keys.request(requestId), args);
    if (reply[0] === 'already') return { kind: 'already', status: reply[1] as EndStatus };
    if (reply[0] !== 'ended') return { kind: reply[0] as 'requested' | 'running' | 'changed' | 'unknown' };
    onEnd?.(requestId);
    return wake(requestId, { kind: 'ended', run: runVersion(reply[2]) });
  }

  return {
    accept,
    claim,
    finish,
    endUnclaimed,
    cancel,
    ...createClaimHolder(run, keys, mostBytes),
    ...createWaitNotes(run, keys, mostBytes),
    questions: createQuestions(run, { connection, keys, requestBytes: mostBytes }),
    ...createRecordReader(connection, keys),
    log: createSignalLog({ connection, keys, run, requestBytes: mostBytes }),
  };
}

/** What the run would read, if that is all there is. */
function newsOf(verdict: FinishVerdict, terminal: SignalDraft | undefined): RunNews | undefined {
  if (verdict.kind !== 'ended' || !verdict.alone || !terminal) return undefined;
  return { signal: { ...terminal, sequence: verdict.sequence } as Signal, now: verdict.now };
}

/** As cancel.lua compares it; '' = whatever it is. */
function stateOf(seen: Pick<DirectiveRecord, 'status' | 'fence'> | undefined): string {
  return seen ? `${seen.status}/${seen.fence}` : '';
}

/** As accept.lua reads them. */
function acceptArguments(
  batch: readonly Acceptance[],
  { together }: AcceptOptions,
  first: readonly (string | number)[],
): (string | number)[] {
  const { announcements = [], inlineBytes = 0 } = together ?? {};
  const looks = announcements.flatMap(({ id, afterMs }) => [afterMs, id]);
  return [...first, inlineBytes, announcements.length, ...looks, ...batch.flatMap(acceptanceArguments)];
}

/** As include-accept.lua reads them. */
export function acceptanceArguments(directive: Acceptance): (string | number)[] {
  const { id, type, digest, lane, deadlineMs, envelope, end } = directive;
  return [
    id,
    type,
    digest,
    lane ?? '',
    deadlineMs,
    envelope,
    end?.status ?? '',
    end ? JSON.stringify(end.signal) : '',
  ];
}
