// Reading the journal's hashes back into records.
// Must never write.
import { type AskedRound, askedRound } from './asked-round.ts';
import { identifierAt } from '../../platform/telemetry/identifier.ts';

export type DirectiveStatus = 'accepted' | 'running' | 'waiting' | 'succeeded' | 'failed';

/** The journal's record of one directive. Instants are milliseconds since the epoch, by the clock of Redis. */
export interface DirectiveRecord {
  id: string;
  type: string;
  status: DirectiveStatus;
  digest: string;
  /** The lane its job is in now; null for directives that ended when they were accepted. */
  lane: string | null;
  /** How many claims were granted; the current claim's fencing number. */
  fence: number;
  /** Claims given back without an outcome; they are not attempts. */
  released: number;
  failures: number;
  redeliveries: number;
  acceptedAt: number;
  deadlineAt: number;
  startedAt: number | null;
  endedAt: number | null;
  leaseUntil: number | null;
  /** When the current claim was granted, by the clock of its worker; null: it is not running, or unknown. */
  claimedAt: number | null;
  nextAttemptAt: number | null;
  /** The begin, or the latest begin, that its caller set; null: none. */
  begin: RecordedBegin | null;
  /** It waits for the end of the directive that it replaces. */
  behind: boolean;
  /** Why it is to end without another attempt; '' = no reason was given, null: it may go on. */
  cancel: string | null;
  /** Sequence of the terminal signal. */
  terminal: number | null;
  /** The reason of its wait; null: none has been noted since its last claim. */
  waits: RecordedWait | null;
  /** As it was changed while it waited; null: as its ticket says. */
  priority: number | null;
  /** The questions of its tool, where an answer still counts; null: none. */
  asked: AskedRound | null;
  /** The other side has made a task of its call; that of an ended directive has not been cancelled there yet. */
  task: boolean;
  /** Its end may cause a notification; the envelope has the mark too. */
  noticed: boolean;
}

export interface RecordedBegin {
  at: number;
  /** null: only its deadline counts. */
  by: number | null;
}

export interface RecordedWait {
  reason: string;
  untilAt: number | null;
}

export interface RequestRecord {
  status: 'open' | 'closed';
  sequence: number;
  open: number;
  createdAt: number;
  closedAt: number | null;
  /** Requests that repeat it or were forked from it; absent: none, or not read. */
  descendants?: readonly string[];
}

type Fields = Record<string, string | undefined>;

const ATTRIBUTES = [
  'type', 'status', 'digest', 'lane', 'fence', 'released', 'failures', 'redeliveries', 'accepted_at', 'deadline_at',
  'started_at', 'ended_at', 'lease_until', 'next_attempt_at', 'terminal', 'claimant', 'waits', 'asked', 'task', 'begin', 'priority',
  'behind', 'cancel', 'noticed',
] as const; // prettier-ignore

/** Attribute → its place among the values of a directive. */
const PLACES: ReadonlyMap<string, number> = new Map(ATTRIBUTES.map((name, place) => [name, place]));

/** The state fields to read for one directive, in the order `directiveRecord` expects their values. */
export function directiveFields(id: string): string[] {
  return ATTRIBUTES.map((attribute) => `${id}|${attribute}`);
}

function numberOrNull(value: string | undefined): number | null {
  return value === undefined ? null : Number(value);
}

function fromFields(id: string, fields: Fields): DirectiveRecord | null {
  if (fields['status'] === undefined) return null;
  return {
    id,
    type: fields['type'] ?? '',
    status: fields['status'] as DirectiveStatus,
    digest: fields['digest'] ?? '',
    lane: fields['lane'] || null,
    fence: Number(fields['fence'] ?? 0),
    released: Number(fields['released'] ?? 0),
    failures: Number(fields['failures'] ?? 0),
    redeliveries: Number(fields['redeliveries'] ?? 0),
    acceptedAt: Number(fields['accepted_at'] ?? 0),
    deadlineAt: Number(fields['deadline_at'] ?? 0),
    startedAt: numberOrNull(fields['started_at']),
    endedAt: numberOrNull(fields['ended_at']),
    leaseUntil: fields['status'] === 'running' ? numberOrNull(fields['lease_until']) : null,
    claimedAt: fields['status'] === 'running' ? claimedAt(fields) : null,
    nextAttemptAt: fields['status'] === 'waiting' ? numberOrNull(fields['next_attempt_at']) : null,
    begin: recordedBegin(fields['begin']),
    behind: fields['behind'] !== undefined,
    cancel: fields['cancel'] ?? null,
    terminal: numberOrNull(fields['terminal']),
    waits: recordedWait(fields),
    priority: numberOrNull(fields['priority']),
    asked: openRound(fields),
    task: fields['task'] !== undefined,
    noticed: fields['noticed'] !== undefined,
  };
}

/** The instant of the claim, from its token, which include-claim.lua writes before the records that it found. */
function claimedAt({ claimant = '' }: Fields): number | null {
  return identifierAt(claimant.split('/', 1)[0] ?? '');
}

/** As include-accept.lua writes it. */
export function recordedBegin(text: string | undefined): RecordedBegin | null {
  const [at, by] = text?.split(' ') ?? [];
  return at === undefined ? null : { at: Number(at), by: by === undefined || by === '-' ? null : Number(by) };
}

/** The instant from which a first attempt may be made; its deadline counts from there. */
export function dueFrom({ begin, acceptedAt }: Pick<DirectiveRecord, 'begin' | 'acceptedAt'>): number {
  return begin?.at ?? acceptedAt;
}

/** The instant before which no attempt may begin; null: it may begin now, has begun, or has ended. */
export function beginsLater(
  { begin, status, fence, nextAttemptAt }: DirectiveRecord,
  now: number,
): number | null {
  const waits = begin !== null && status === 'waiting' && fence === 0;
  return waits && nextAttemptAt !== null && nextAttemptAt > now ? nextAttemptAt : null;
}

const WAITS = /^(\d+) ([a-z0-9_]{1,64}) (\d+|-) /;

/** A question is open while its directive waits for the answer, or the worker that asked holds the claim. */
function openRound({ status, asked = '', fence = '0' }: Fields): AskedRound | null {
  const round = askedRound(asked);
  if (round === null || round.open === 0 || round.fence !== Number(fence)) return null;
  return status === (round.held ? 'running' : 'waiting') ? round : null;
}

/** As include-wait.lua writes it. What was said of an earlier claim holds no longer. */
function recordedWait(fields: Fields): RecordedWait | null {
  const { status, waits = '', fence = '0' } = fields;
  const asked = openRound(fields);
  if (asked !== null) return { reason: 'input_required', untilAt: asked.untilAt };
  const [, at, reason = '', until] = WAITS.exec(waits) ?? [];
  if ((status !== 'accepted' && status !== 'waiting') || at !== fence) return null;
  return { reason, untilAt: until === '-' ? null : Number(until) };
}

/** A record from the values of `directiveFields(id)`; null when the directive is unknown. */
export function directiveRecord(id: string, values: readonly (string | null)[]): DirectiveRecord | null {
  const fields: Fields = {};
  ATTRIBUTES.forEach((attribute, index) => {
    const value = values[index];
    if (value !== null && value !== undefined) fields[attribute] = value;
  });
  return fromFields(id, fields);
}

/** The request's own record, from its whole state hash; null when the request is unknown. */
export function requestRecord(state: Fields): RequestRecord | null {
  if (state['created_at'] === undefined) return null;
  return {
    status: state['status'] === 'closed' ? 'closed' : 'open',
    sequence: Number(state['seq'] ?? 0),
    open: Number(state['open'] ?? 0),
    createdAt: Number(state['created_at']),
    closedAt: numberOrNull(state['closed_at']),
    ...descendantsOf(state['descendants']),
  };
}

/** The ids that descend.lua has written. */
function descendantsOf(text: string | undefined): Pick<RequestRecord, 'descendants'> {
  return text === undefined ? {} : { descendants: text.trimEnd().split(' ') };
}

/** Every directive of a request, in the order of acceptance, from its whole state hash. */
export function directiveRecords(state: Fields): DirectiveRecord[] {
  return recordsIn(
    Object.entries(state).flatMap(([name, value]) => (value === undefined ? [] : [name, value])),
  );
}

/** The same from names and values in turns, as Redis answers: an object with the names of all would cost as much as the rest. */
export function recordsIn(pairs: readonly string[]): DirectiveRecord[] {
  const byId = new Map<string, (string | null)[]>();
  for (let at = 0; at < pairs.length; at += 2) {
    const name = pairs[at] ?? '';
    const bar = name.lastIndexOf('|');
    const place = PLACES.get(name.slice(bar + 1));
    // Fields of the request's run begin with '@', which no identifier does.
    if (bar < 0 || place === undefined || name.startsWith('@')) continue;
    const id = name.slice(0, bar);
    const values = byId.get(id) ?? ATTRIBUTES.map((): string | null => null);
    byId.set(id, values);
    values[place] = pairs[at + 1] ?? null;
  }
  const records = [...byId]
    .map(([id, values]) => directiveRecord(id, values))
    .filter((each) => each !== null);
  return records.sort((left, right) => left.acceptedAt - right.acceptedAt || (left.id < right.id ? -1 : 1));
}
