// When each claim of a directive and each turn of a run began and ended, as the journal's scripts have noted it.
// Must never guess an instant: what no script has written is null.
import { processCodeOf } from '../../platform/telemetry/identifier.ts';
import type { DirectiveRecord } from '../request/records.ts';

/** One claim. Instants are milliseconds since the epoch, by the clock of Redis. */
export interface ClaimNote {
  fence: number;
  claimedAt: number | null;
  firstOutputAt: number | null;
  /** null: it is the last one and goes on or ended its directive, or an older version has not noted it. */
  end: ClaimEnd | null;
  /** Code of the process that held it, as its token has it; null: unknown. */
  worker: string | null;
}

export interface ClaimEnd {
  at: number;
  /** `retry`, `fallback`, `lost`, `unused` (no attempt was made), or why it was given back. */
  how: string;
  /** Until the next attempt may begin. */
  delayMs: number;
  /** false: it was no attempt. */
  counted: boolean;
}

/** One turn that was written. */
export interface TurnNote {
  version: number;
  readAt: number;
  writtenAt: number;
  /** The signals that it wrote: after this sequence … */
  after: number;
  /** … up to this one. */
  last: number;
}

type Fields = Readonly<Record<string, string | undefined>>;

const CLAIM = /^(\d+|-)(?: (\d+|-)(?: (\d+) ([a-z0-9_]{1,64}) (\d+) ([01])(?: ([0-9a-v]{6}))?)?)?$/;
const TURN = /^(\d+) (\d+) (\d+) (\d+)$/;
const TURN_FIELD = '@run|turn';
const NEWEST = 64;

/** The claims that are known, oldest first. `state`: the state of the request, whole. */
export function claimNotes(state: Fields, { id, fence, startedAt }: NotedDirective): ClaimNote[] {
  const notes: ClaimNote[] = [];
  for (const number of fencesUpTo(fence)) {
    const text = state[`${id}|claim${number}`];
    // The first and the last claim need no note of their own.
    if (text === undefined && number > 1 && number < fence) continue;
    const [, claimed, output, at, how, delay, counted, code] = CLAIM.exec(text ?? '-') ?? [];
    const end =
      at === undefined || how === undefined
        ? null
        : { at: Number(at), how, delayMs: Number(delay), counted: counted === '1' };
    // A first claim may end before the start is reported, which then is that of a later one.
    const isFirst = number === 1 && startedAt !== null && startedAt <= (end?.at ?? Infinity);
    const claimedAt = numberOrNull(claimed) ?? (isFirst ? startedAt : null);
    const worker =
      code ?? (number === fence && end === null ? processCodeOf(state[`${id}|claimant`] ?? '') : null);
    notes.push({ fence: number, claimedAt, firstOutputAt: numberOrNull(output), end, worker });
  }
  return notes;
}

/** The first, and the newest: include-claims.lua keeps fewer. */
function fencesUpTo(fence: number): number[] {
  const from = Math.max(1, fence - NEWEST + 1);
  const newest = Array.from({ length: fence - from + 1 }, (_, index) => from + index);
  return from > 1 ? [1, ...newest] : newest;
}

type NotedDirective = Pick<DirectiveRecord, 'id' | 'fence' | 'startedAt'>;

/** The turns that are known, oldest first. */
export function turnNotes(state: Fields): TurnNote[] {
  const notes = Object.entries(state).flatMap(([field, text = '']) => {
    if (!field.startsWith(TURN_FIELD)) return [];
    const found = TURN.exec(text);
    return found === null
      ? []
      : [turnNote(Number(field.slice(TURN_FIELD.length)), found.slice(1).map(Number))];
  });
  return notes.sort((left, right) => left.version - right.version);
}

function turnNote(
  version: number,
  [readAt = 0, writtenAt = 0, after = 0, last = 0]: readonly number[],
): TurnNote {
  return { version, readAt, writtenAt, after, last };
}

/** When somebody asked for the end of a directive that ran; null: nobody did, or it was not noted. */
export function cancelNote(state: Fields, id: string): number | null {
  return numberOrNull(state[`${id}|cancel_at`]);
}

function numberOrNull(text: string | undefined): number | null {
  return text === undefined || text === '-' ? null : Number(text);
}
