// The parts of an attempt: those of its worker, and the claimed directive on its way. Never decides anything.
import type { PayloadKeys } from '../../platform/encryption/payload-keys.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import type { ToolQuestion } from '../../contract/tool/tool-question.ts';
import type { Ruling } from '../../contract/policy/policy.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { knownRepeatPolicy, type RepeatPolicy } from '../../contract/directive/work-directive.ts';
import type { QueuedDefinition, SampledModels } from '../executors/definition.ts';
import type { Registry } from '../executors/registry.ts';
import type { Envelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { PayloadStore } from '../../store/request/payload-store.ts';
import type { EndRecorder } from '../../store/index/end-recorder.ts';
import type { SignalOrigin } from '../../store/log/signal-draft.ts';
import type { SerialLanes } from '../../store/limits/serial-lanes.ts';
import type { ClaimVerdict } from '../../store/request/verdicts.ts';
import type { JobOutcome } from '../../queue/consume.ts';
import { failureText } from '../../queue/job.ts';
import type { GatedLanes } from '../../queue/gated-lanes.ts';
import type { HeldJob } from '../../queue/lane-take.ts';
import type { CallNotice } from '../../directives/sweep/notice.ts';
import type { Lanes } from '../../queue/lanes.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import type { Reports } from '../../platform/telemetry/reports.ts';
import { reportEnded } from './attempt-measures.ts';
import type { CircuitBreaker } from '../circuit-breaker.ts';
import type { HeldPass } from '../gate-pass.ts';
import { type DurableWriting, persistently } from '../record/durably.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import type { AttemptTrace } from './attempt-spans.ts';
import type { EndNotices } from '../../contract/signal/end-notices.ts';
import type { SweepIndex } from '../../store/index/sweep-index.ts';
import type { ResultBound } from '../record/result-bound.ts';
import type { CandidateRecord } from './model-candidate.ts';
import type { PauseLimits } from './pause.ts';
import type { ClaimRef } from '../../store/refs.ts';
import type { Heartbeat } from '../threaded-heartbeat.ts';

/** The records of the journal that an attempt reads and writes. */
export interface AttemptRecords {
  journal: Journal;
  serial: SerialLanes;
  ends: EndRecorder;
  payloads: PayloadStore;
  index: Pick<SweepIndex, 'announce'>;
}

export interface AttemptLimits {
  result: ResultBound;
  /** Bound of the content that a model reads of a tool's error. Default: that of the contract. */
  contentCharacters?: number;
  /** How long a claim holds without being extended, milliseconds. */
  leaseMs: number;
  pauses: PauseLimits;
}

/** A claimed directive, before anything is sent for it. */
export interface ClaimedCall extends Pick<
  Claimed,
  'envelope' | 'lane' | 'claim' | 'digest' | 'origin' | 'candidate'
> {
  readonly directive: Directive;
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly now: number;
}

/** The rules of an operator about calls. */
export interface CallRules {
  /** Decided once for a directive, and once more for the cheaper models of a budget; null: the claim was taken over. */
  rule(call: ClaimedCall): Promise<Ruling | null>;
  /** Decides about models that the tool of the call asks; a rule that asks a person denies. null: the claim was taken over. */
  ruleSampled(call: ClaimedCall, asked: SampledModels): Promise<Ruling | null>;
  /** A person has decided about the call: it is made, or it is not. */
  settle(claim: ClaimRef, isMade: boolean): Promise<void>;
}

/** Whether a call may use the login of its caller. */
export type LoginState =
  /** Its server has no logins of callers. */
  | { readonly kind: 'none' }
  /** `login`: its name, which renewals keep. */
  | { readonly kind: 'stored'; readonly login: string }
  /** The caller is asked, by this question. */
  | { readonly kind: 'missing'; readonly question: ToolQuestion; readonly patienceMs: number }
  /** It cannot be asked for. */
  | { readonly kind: 'refused'; readonly reason: string };

/** The logins of callers at MCP servers. */
export interface CallLogins {
  /** null: the directive has no caller. */
  accountOf(envelope: Envelope): string | null;
  /** A missing login is noted, so that the call continues once it is stored. */
  stateOf(call: Pick<Claimed, 'envelope' | 'lane' | 'claim'>): Promise<LoginState>;
  /** Forgets the login that the server refuses, renewed or not; another one that is stored meanwhile is kept. */
  forget(call: Pick<Claimed, 'envelope' | 'lane'>, login: string): Promise<void>;
}

export interface AttemptParts extends DurableWriting {
  records: AttemptRecords;
  registry: Registry;
  heartbeat: Heartbeat;
  lanes: Lanes;
  gated: Pick<GatedLanes, 'enter' | 'enqueue' | 'hold' | 'extend' | 'leave'>;
  breaker: CircuitBreaker;
  limits: AttemptLimits;
  encryption: PayloadKeys;
  logger: Logger;
  spans: Spans;
  reports: Reports;
  /** Default: the sweeper notifies of ends. */
  callNotice?: CallNotice;
  /** Whether endpoints are notified of questions to people. Default: none is. */
  endNotices?: Pick<EndNotices, 'asks'>;
  /** null: there are none. */
  policy: CallRules | null;
  /** null: no server has logins of callers. */
  logins: CallLogins | null;
}

export type Granted = Extract<ClaimVerdict, { kind: 'granted' }>;

/** A claimed directive on its way through the attempt. */
export interface Claimed {
  envelope: Envelope;
  digest: string;
  /** The one it is in now. */
  lane: string;
  candidate: CandidateRecord;
  definition: QueuedDefinition;
  claim: ClaimRef;
  granted: Granted;
  /** When the claim was asked for, by the process' monotonic clock, milliseconds. */
  claimedAt: number;
  /** The claim came with its job; null: it was asked for. */
  held: HeldJob | null;
  /** The pass of the gate of its lane; null: it does not pass one. */
  pass: HeldPass | null;
  /** One attempt of the lane at a time over all workers. */
  serial: boolean;
  origin: SignalOrigin;
  attempt: number;
  /** null: its trace is not recorded. */
  trace: AttemptTrace | null;
}

export const DONE: JobOutcome = { kind: 'done' };

/**
 * Notes a directive whose end is written. `error`: null: success. `isNew`: this worker wrote it. `isOver`: no work is
 * left for the sweeper; otherwise it continues the task that is left.
 */
export function noteEnd(
  parts: AttemptParts,
  ended: Pick<Claimed, 'envelope' | 'lane'> & Partial<Claimed>,
  error: ErrorEnvelope | null,
  { isNew = true, isOver = true }: { isNew?: boolean; isOver?: boolean } = {},
): JobOutcome {
  const { request_id: requestId, id } = ended.envelope.directive;
  const errorType = error?.type ?? null;
  const end = { requestId, id, lane: ended.lane, errorType };
  if (isOver) parts.records.ends.record(end);
  else parts.records.ends.recordUnfinished(end);
  if (ended.envelope.noticed) parts.callNotice?.(requestId, id);
  if (isNew) reportEnded(parts, ended, error);
  return { kind: 'done', errorType, ...(error === null ? {} : { failure: failureText(error) }) };
}

/** Time left until the deadline when it was claimed, milliseconds. */
export function remainingMsOf({ granted }: Pick<Claimed, 'granted'>): number {
  return granted.deadlineAt - granted.now;
}

export async function cancelReason(
  { records, running }: AttemptParts,
  requestId: string,
  id: string,
): Promise<string | null> {
  return persistently(() => records.journal.cancelReason(requestId, id), running.givenUp);
}

export async function repeatPolicyOf({
  definition,
  envelope,
  lane,
}: Pick<Claimed, 'definition' | 'envelope' | 'lane'>): Promise<RepeatPolicy> {
  return definition.repeatPolicy(envelope.directive, lane).then(knownRepeatPolicy, () => 'once' as const);
}
