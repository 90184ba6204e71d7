/** The promises about turns: each one begins, in its order within its line, and no line waits for the whole of another.
 *  It must never judge by how long something took, except against the directive's own deadline. */
import { servedMs } from './directive-case.ts';
import type { Fault } from './history.ts';
import { notInTime } from './judgement.ts';

/** A directive of a stream, as it was found at its end. Instants are milliseconds since the epoch. */
export interface StreamedCall {
  readonly id: string;
  /** Those with the same limits and the same fairness key. */
  readonly line: string;
  readonly priority: number;
  readonly acceptedAt: number;
  readonly deadlineAt: number;
  readonly endedAt: number;
  /** By the tool; null: never. */
  readonly beganAt: number | null;
  readonly errorType: string | null;
}

export interface Stream {
  readonly name: string;
  /** One at a time: nobody begins while somebody has the place. */
  readonly isSerial: boolean;
  /** The line that has one at a time in it, where another has many; null: there is none. */
  readonly lone: string | null;
  readonly calls: readonly StreamedCall[];
}

/** Of the service: a step of priority is so much of a head start. */
const PRIORITY_MS = 30_000;
/** By two APIs, and rounded. */
const SAME_MS = 1_000;
/** Who was accepted by an API that died then is in its line when the sweeper has found it. */
const MOST_OVERTAKING = 30;
/** Of other lines: those that run, are let out or come back, and those that begin between the acceptance and the way into the line. */
const MOST_OF_OTHERS = 6;
/** With workers; long enough for all that wait in a stream. */
const LONG_ENOUGH_MS = 40_000;

export function turnViolationsOf(stream: Stream, faults: readonly Fault[]): string[] {
  const found = stream.calls.flatMap((call) => [
    ...(call.errorType === null && call.beganAt === null
      ? [`${call.id} succeeded, and no tool has noted it`]
      : []),
    ...(isStarved(call, faults) ? [notInTime(`${call.id} waited until its deadline, and never began`)] : []),
    ...(stream.isSerial ? overtakenBy(call, stream, faults) : []),
  ]);
  return found.map((sentence) => `${stream.name}: ${sentence}`);
}

function isStarved(
  { acceptedAt, deadlineAt, beganAt, errorType }: StreamedCall,
  faults: readonly Fault[],
): boolean {
  const isOver = beganAt === null && errorType === 'deadline_exceeded';
  return isOver && servedMs(faults, acceptedAt, deadlineAt) >= LONG_ENOUGH_MS;
}

function overtakenBy(call: StreamedCall, { calls, lone }: Stream, faults: readonly Fault[]): string[] {
  const until = call.beganAt ?? call.endedAt;
  const between = calls.filter(
    ({ beganAt }) => beganAt !== null && beganAt > call.acceptedAt && beganAt < until,
  );
  const younger = between.filter(
    ({ line, ...other }) => line === call.line && orderOf(other) > orderOf(call) + SAME_MS,
  );
  const others = between.filter(({ line }) => line !== call.line);
  return [
    ...(younger.length > MOST_OVERTAKING
      ? [`${younger.length} of its line that came after ${call.id} began before it`]
      : []),
    ...(call.line === lone && others.length > MOST_OF_OTHERS && !mayBeLate(call, faults)
      ? [`${call.id} waited while ${others.length} of other lines began`]
      : []),
  ];
}

function orderOf({ acceptedAt, priority }: Pick<StreamedCall, 'acceptedAt' | 'priority'>): number {
  return acceptedAt - priority * PRIORITY_MS;
}

/** Who accepted it may have died before it was in its line. */
function mayBeLate({ acceptedAt }: StreamedCall, faults: readonly Fault[]): boolean {
  return faults.some(
    ({ kind, at, overAt }) =>
      (kind === 'api killed' || kind === 'redis killed') &&
      at <= acceptedAt + SAME_MS &&
      (overAt ?? Infinity) >= acceptedAt - SAME_MS,
  );
}
