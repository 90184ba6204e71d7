/** What ran when at a tool, by the tool's own record: each call from its begin to its end.
 *  It must never blame the service for a call whose worker or server was killed or stopped in the middle of it. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fault } from './history.ts';

/** One call began or ended. Instants are milliseconds since the epoch. */
export interface CallLine {
  readonly call: string;
  readonly what: 'begin' | 'end' | 'aborted';
  readonly label: string;
  /** Which limits it is under. */
  readonly limits?: readonly string[];
  readonly at: number;
  /** Of the server. */
  readonly pid: number;
  /** Of its worker. */
  readonly workerPid: number;
}

export interface LoggedCall {
  readonly begin: CallLine;
  /** null: its server never recorded it. */
  readonly end: CallLine | null;
}

export type CallLog = 'serial-calls' | 'limited-calls';

/** An abort travels from the worker to its server while the next call may already begin. */
const ABORT_TRAVELS_MS = 1_000;

function fileIn(folder: string, log: CallLog): string {
  return join(folder, `${log}.jsonl`);
}

/** Appends in one piece. */
export function noteCall(folder: string, log: CallLog, line: CallLine): void {
  appendFileSync(fileIn(folder, log), `${JSON.stringify(line)}\n`);
}

export function callLines(folder: string, log: CallLog): CallLine[] {
  const file = fileIn(folder, log);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line) as CallLine);
}

/** In the order in which they began. */
export function callsOf(lines: readonly CallLine[]): LoggedCall[] {
  const ends = new Map(lines.filter(({ what }) => what !== 'begin').map((line) => [line.call, line]));
  return lines
    .filter(({ what }) => what === 'begin')
    .toSorted((left, right) => left.at - right.at || (left.call < right.call ? -1 : 1))
    .map((begin) => ({ begin, end: ends.get(begin.call) ?? null }));
}

/** Whether the first of two calls ran when the second one began, and its worker and its server were as they should be. */
export function runsAt(
  { begin, end }: LoggedCall,
  { call, at }: CallLine,
  faults: readonly Fault[],
): boolean {
  if (begin.call === call || begin.at > at || (begin.at === at && begin.call > call)) return false;
  if (end !== null && end.at + (end.what === 'aborted' ? -ABORT_TRAVELS_MS : 0) <= at) return false;
  const concerned = new Set([begin.pid, begin.workerPid]);
  const during = ({ at: from, overAt }: Fault): boolean => from <= at && (overAt ?? Infinity) >= begin.at;
  return !faults.some((fault) => concerned.has(fault.pid) && during(fault));
}
