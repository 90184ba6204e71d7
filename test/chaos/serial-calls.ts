/** What ran when on the serial server, by its own record, and the promise that no two of its calls overlap.
 *  It must never blame the service for a call whose worker or server was killed or stopped in the middle of it. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fault } from './history.ts';

/** One call began or ended. Instants are milliseconds since the epoch. */
export interface SerialLine {
  readonly call: string;
  readonly what: 'begin' | 'end' | 'aborted';
  readonly label: string;
  readonly at: number;
  /** Of the server. */
  readonly pid: number;
  /** Of its worker. */
  readonly workerPid: number;
}

interface Call {
  readonly begin: SerialLine;
  /** null: its server never recorded it. */
  readonly end: SerialLine | null;
}

/** An abort travels from the worker to its server while the next call may already begin. */
const ABORT_TRAVELS_MS = 1_000;

function fileIn(folder: string): string {
  return join(folder, 'serial-calls.jsonl');
}

/** Appends in one piece. */
export function noteSerialCall(folder: string, line: SerialLine): void {
  appendFileSync(fileIn(folder), `${JSON.stringify(line)}\n`);
}

export function serialCalls(folder: string): SerialLine[] {
  const file = fileIn(folder);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line) as SerialLine);
}

/** Sentences, one for each call that began while another one ran. */
export function overlapsOf(lines: readonly SerialLine[], faults: readonly Fault[]): string[] {
  const begun: Call[] = lines
    .filter(({ what }) => what === 'begin')
    .map((begin) => ({
      begin,
      end: lines.find(({ call, what }) => call === begin.call && what !== 'begin') ?? null,
    }));
  return begun.flatMap((second) => {
    const first = begun.find((other) => runsAt(other, second.begin, faults));
    if (first === undefined) return [];
    return [`${second.begin.label} began on the serial server while ${first.begin.label} ran there`];
  });
}

function runsAt({ begin, end }: Call, { call, at }: SerialLine, faults: readonly Fault[]): boolean {
  if (begin.call === call || begin.at > at || (begin.at === at && begin.call > call)) return false;
  if (end !== null && end.at + (end.what === 'aborted' ? -ABORT_TRAVELS_MS : 0) <= at) return false;
  const concerned = new Set([begin.pid, begin.workerPid]);
  const during = ({ at: from, overAt }: Fault): boolean => from <= at && (overAt ?? Infinity) >= begin.at;
  return !faults.some((fault) => concerned.has(fault.pid) && during(fault));
}
