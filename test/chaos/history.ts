/** What was sent, answered, killed and seen during a run, with times: the evidence beside the service's own logs.
 *  It must never hold anything that the service did not send or the driver did not do. */
import type { PlannedDirective } from './plan.ts';

/** `lost`: no answer arrived, so the outcome is unknown. */
export type AnswerStatus = number | 'lost';

export interface SubmissionRecord {
  readonly purpose: 'submit' | 'repeat' | 'conflict' | 'invalid';
  readonly directives: readonly PlannedDirective[];
  readonly traceparent: string | null;
  readonly api: string;
  readonly sentAt: number;
  answeredAt: number;
  status: AnswerStatus;
  /** The problem's code, or why the answer was lost. */
  code: string;
  verdicts: ReadonlyMap<string, 'accepted' | 'existing'>;
  /** Ids of the terminal signals that came with the answer, by directive. */
  results: ReadonlyMap<string, string>;
}

export interface CancelRecord {
  /** null: the whole request. */
  readonly target: string | null;
  readonly api: string;
  readonly sentAt: number;
  answeredAt: number;
  status: AnswerStatus;
  verdicts: ReadonlyMap<string, { status: 'cancelled' | 'requested' | 'ended'; resultId: string | null }>;
}

/** A signal as a live reader received it. */
export interface SeenSignal {
  readonly sequence: number;
  readonly id: string;
  readonly connection: number;
}

/** An answer to what a tool asks. */
export interface AnswerRecord {
  readonly inputId: string;
  readonly n: number;
  readonly status: AnswerStatus;
}

/** Another priority that was asked for. */
export interface ChangeRecord {
  readonly directive: PlannedDirective;
  readonly priority: number;
  readonly status: AnswerStatus;
}

export interface RequestHistory {
  readonly requestId: string;
  readonly submissions: SubmissionRecord[];
  readonly cancels: CancelRecord[];
  readonly seen: SeenSignal[];
  readonly answers: AnswerRecord[];
  readonly changes: ChangeRecord[];
}

export type FaultKind =
  | 'worker killed'
  | 'worker in a crash loop'
  | 'worker stopped for a while'
  | 'worker cut off'
  | 'worker told to stop'
  | 'engine killed'
  | 'engine stopped for a while'
  | 'engine cut off'
  | 'engine told to stop'
  | 'api killed'
  | 'stdio server killed'
  | 'http server killed'
  | 'model server killed'
  | 'redis killed'
  | Replacement;

/** Told to stop, with all the time it needs, and another one in its place: nothing may come of it. */
export type Replacement = 'api replaced' | 'worker replaced' | 'engine replaced' | 'all roles replaced';

export interface Fault {
  readonly kind: FaultKind;
  readonly pid: number;
  readonly at: number;
  /** When the killed process, or its replacement, worked again; null: not yet. */
  overAt: number | null;
}

export function createRequestHistory(requestId: string): RequestHistory {
  return { requestId, submissions: [], cancels: [], seen: [], answers: [], changes: [] };
}

/** Directives that some answer reported as accepted. */
export function acceptedIds({ submissions }: RequestHistory): Set<string> {
  return new Set(submissions.flatMap(({ verdicts }) => [...verdicts.keys()]));
}

/** Directives that a submission without an answer may have created. */
export function possibleIds(history: RequestHistory): Set<string> {
  const sent = history.submissions.filter(({ purpose, status }) => mayHaveAccepted(purpose, status));
  return new Set(sent.flatMap(({ directives }) => directives.map(({ id }) => id)));
}

function mayHaveAccepted(purpose: SubmissionRecord['purpose'], status: AnswerStatus): boolean {
  if (purpose === 'conflict' || purpose === 'invalid') return false;
  // A 503 means that Redis did not answer in time: it may have stored the submission.
  return status === 'lost' || status === 503 || status === 202 || status === 200;
}

/** What every directive of the request was planned to be, by id. */
export function plannedById({ submissions }: RequestHistory): Map<string, PlannedDirective> {
  return new Map(submissions.flatMap(({ directives }) => directives.map((each) => [each.id, each] as const)));
}
