/** What was sent to one run and answered, with times.
 *  It must never hold anything that the service did not send or the driver did not do. */
import { type AnswerStatus, createRequestHistory, type RequestHistory } from './history.ts';
import type { PlannedRun } from './run-plan.ts';

interface Asked {
  readonly sentAt: number;
  answeredAt: number;
  status: AnswerStatus;
  /** The problem's code, or why the answer was lost. */
  code: string;
}

export interface StartRecord extends Asked {
  readonly purpose: 'start' | 'repeat' | 'conflict';
}

export interface InputRecord extends Asked {
  readonly id: string;
  readonly content: string;
}

export interface DecisionRecord extends Asked {
  readonly callId: string;
  readonly decision: 'approve' | 'deny';
  readonly arguments: Readonly<Record<string, unknown>> | null;
}

/** The answers to cancellations of the whole run are in `cancels`. */
export interface RunHistory extends RequestHistory {
  readonly planned: PlannedRun;
  readonly starts: StartRecord[];
  readonly inputs: InputRecord[];
  readonly decisions: DecisionRecord[];
}

export function createRunHistory(planned: PlannedRun): RunHistory {
  return { ...createRequestHistory(planned.requestId), planned, starts: [], inputs: [], decisions: [] };
}

export function unanswered(): Asked {
  return { sentAt: Date.now(), answeredAt: Number.POSITIVE_INFINITY, status: 'lost', code: 'still waiting' };
}

/** Some answer reported that the run is durable. */
export function wasStarted({ starts }: RunHistory): boolean {
  return starts.some(({ purpose, status }) => purpose !== 'conflict' && status === 202);
}
