// Runs in the journal: the record of each run beside the directives of its request, and the only way to change it.
// Never reads inside a document; it decides only whether a change is still allowed.
import {
  closedMsOf,
  type LimitsOfTenant,
  NO_TENANT_LIMITS,
  requestBytesOf,
} from '../../contract/access/tenant-limits.ts';
import { ownId, scopedId, tenantOf } from '../../contract/access/tenant.ts';
import type { Later } from '../../contract/directive/later.ts';
import type { RunStatus } from '../../contract/run/run.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { acceptanceWords, announced, keysTogether } from '../request/acceptance-words.ts';
import { type Acceptance, DEFAULT_REQUEST_BYTES, type WithAcceptance } from '../request/journal.ts';
import { type Actor, callerDigest } from '../request/envelope.ts';
import type { KeySpace } from '../keys.ts';
import {
  keyText,
  type OnceVerdict,
  onceVerdict,
  type Released,
  releaseOnce,
  type UnderKey,
} from '../request/once.ts';
import { type RecordedBegin, recordedBegin } from '../request/records.ts';
import type { PieceSize } from '../log/signal-log.ts';
import { prepareScripts, type ScriptReply } from '../scripts.ts';
import { writeSignal } from '../log/stored-signal.ts';

export interface RunJournalOptions {
  connection: RedisConnection;
  keys: KeySpace;
  /** How long a closed request stays readable, milliseconds. */
  retentionMs: number;
  /** The limit of `JournalOptions`. */
  requestBytes?: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
  onEnd?: ((requestId: string) => void) | undefined;
}

export interface NewRun {
  requestId: string;
  /** Digest of the submission: the same content is the same run. */
  digest: string;
  agent: string;
  /** JSON. */
  spec: string;
  traceparent: string;
  /** Default: it begins at once. */
  later?: Later | null;
}

export type StartVerdict =
  | { kind: 'started' }
  | { kind: 'existing'; version: number; status: RunStatus }
  | { kind: 'conflict'; storedDigest: string }
  /** `bytes`: what the request holds already. */
  | { kind: 'no_room'; bytes: number };

/** The records that a turn reads. Instants are milliseconds since the epoch, by the clock of Redis. */
export interface RunReading {
  version: number;
  status: RunStatus;
  now: number;
  createdAt: number;
  endedAt: number | null;
  traceparent: string;
  agent: string;
  /** How much of the inbox `signals` are. */
  inboxBytes: number;
  /** There was more in the inbox than the limit. */
  more: boolean;
  /** JSON. */
  spec: string;
  /** JSON; '' before the first turn. */
  document: string;
  /** The begin that its caller set; null: none. */
  begin: RecordedBegin | null;
  /** The request of the one that it replaces, for whose end it waits; null: it waits for none. */
  behind: string | null;
  /** JSON, in the order of the log; null: it is not there any more. */
  signals: (string | null)[];
}

export interface RunCommit {
  requestId: string;
  /** The one that was read. */
  version: number;
  /** New for each turn, the same when it is repeated because no answer came. */
  token: string;
  inboxBytes: number;
  /** When the turn was read: milliseconds since the epoch, by the clock of Redis. */
  readAt: number;
  document: string;
  /** '' = as before. */
  spec: string;
  status: RunStatus;
  wakeAt: number | null;
  final: boolean;
  outbox: number;
  /** Inputs among the signals that were consumed. */
  inputsConsumed: number;
  /** Inputs that wait in the document. */
  inputsHeld: number;
  /** null = no limit. */
  maxOpen: number | null;
  /** Without their sequences. */
  signals: readonly object[];
  directives: readonly Acceptance[];
}

export type CommitVerdict =
  | { kind: 'committed'; version: number; now: number; more: boolean }
  /** Another turn was faster. */
  | { kind: 'version' }
  /** The run cannot end: it has something left to read. */
  | { kind: 'more' }
  | { kind: 'conflict'; id: string }
  | { kind: 'overflow'; open: number }
  /** The request would hold too much; the end of the run may. */
  | { kind: 'no_room'; bytes: number }
  | { kind: 'unknown' };

export interface SentSignal {
  requestId: string;
  /** Name of the signal in this run: repeats carry the same one. */
  name: string;
  digest: string;
  /** The most inputs that may wait; null: it is no input. */
  limit: number | null;
  signal: object;
}

export type SendVerdict =
  | { kind: 'sent'; version: number; waiting: number }
  | { kind: 'existing'; waiting: number }
  | { kind: 'no_room'; bytes: number }
  | { kind: 'conflict' | 'ended' | 'full' | 'unknown' };

export interface RunResume {
  requestId: string;
  /** The same at every repeat of this resume. */
  name: string;
  digest: string;
  /** The version that was read. */
  version: number;
  /** Directives whose terminal signals the run reads after `signal`. */
  calls: readonly string[];
  /** Sequence of a further signal that it reads again; null: none. */
  further: number | null;
  signal: object;
}

export type ResumeVerdict =
  | { kind: 'resumed'; version: number }
  /** `name` was given before. */
  | { kind: 'existing'; status: RunStatus }
  /** It has not ended, or was changed since it was read. */
  | { kind: 'open' | 'version' | 'conflict' | 'unknown' }
  | { kind: 'no_room'; bytes: number };

/** The facts of a run for the sweeper. */
export interface RunHead {
  version: number;
  status: RunStatus;
  ended: boolean;
  /** Something was not read yet. */
  unread: boolean;
  wakeAt: number | null;
  /** Entries of the outbox that are not done. */
  outbox: number;
  changedAt: number;
  /** The begin of `RunReading`. */
  begin: RecordedBegin | null;
  /** The run before it, of `RunReading`. Default: none. */
  behind?: string | null;
  /** Whether its end was requested. Default: false. */
  isCancelled?: boolean;
  /** Another one begins in its place: it is to be cancelled. Default: none does. */
  isReplaced?: boolean;
}

export type RunJournal = ReturnType<typeof createRunJournal>;

/** Opens the runs of a journal on a connection it does not own. All methods reject when Redis does not answer. */
export function createRunJournal(options: RunJournalOptions) {
  const { connection, keys, retentionMs, requestBytes, onEnd } = options;
  const run = prepareScripts(connection);
  const facts = createRunFacts(connection, keys);
  const { limitsOf = NO_TENANT_LIMITS } = options;
  const mostBytes = (requestId: string): number =>
    requestBytesOf(limitsOf, requestId, requestBytes ?? DEFAULT_REQUEST_BYTES);

  /** `together`: absent = the caller announces and enqueues. */
  async function start(started: NewRun, together?: WithAcceptance): Promise<StartVerdict>;
  /** Under a key. `started.requestId`: where it begins, if it does. */
  async function start(
    started: NewRun,
    together: WithAcceptance | undefined,
    key: UnderKey,
  ): Promise<OnceVerdict>;
  async function start(
    { requestId, digest, agent, spec, traceparent, later }: NewRun,
    together?: WithAcceptance,
    key?: UnderKey,
  ): Promise<StartVerdict | OnceVerdict> {
    const begins = later ? `${later.when ?? '-'} ${later.startByMs ?? '-'}` : '';
    const own = [digest, agent, spec, traceparent, mostBytes(requestId), begins, keyText(key)];
    const ofAll = [...keys.request(requestId), ...keysTogether(keys, together)];
    const reply = await run('run-start', ofAll, [...own, ...announced(together)]);
    return key === undefined ? startVerdict(reply) : onceVerdict(requestId, reply);
  }

  /** A run that waits for the end of another one may begin, where that has ended. */
  async function release(requestId: string): Promise<Released> {
    return releaseOnce(run, keys, { requestId, id: '@run' });
  }

  /**
   * The signals that are read end with the one that passes `bytes`. null when there is no such run.
   */
  async function read(requestId: string, { limit, bytes }: PieceSize): Promise<RunReading | null> {
    return runReading(requestId, await run('run-read', keys.request(requestId), [limit, bytes]));
  }

  /** `together`: as in `start`. */
  async function commit(turn: RunCommit, together?: WithAcceptance): Promise<CommitVerdict> {
    const ofAll = [...keys.request(turn.requestId), ...keysTogether(keys, together)];
    const verdict = commitVerdict(await run('run-commit', ofAll, commitArguments(turn, together)));
    if (turn.final && verdict.kind === 'committed') onEnd?.(turn.requestId);
    return verdict;
  }

  function commitArguments(turn: RunCommit, together: WithAcceptance | undefined): (string | number)[] {
    return [
      turn.version,
      turn.token,
      turn.inboxBytes,
      turn.document,
      turn.spec,
      turn.status,
      turn.wakeAt ?? '',
      turn.final ? 1 : 0,
      turn.outbox,
      turn.inputsConsumed,
      turn.inputsHeld,
      turn.maxOpen ?? '',
      closedMsOf(limitsOf, turn.requestId, retentionMs),
      mostBytes(turn.requestId),
      turn.signals.length,
      turn.readAt,
      ...announced(together),
      ...turn.signals.map((signal) => writeSignal(turn.requestId, signal)),
      ...acceptanceWords(turn.requestId, turn.directives, together),
    ];
  }

  async function send({ requestId, name, digest, limit, signal }: SentSignal): Promise<SendVerdict> {
    const args = [name, digest, limit ?? '', writeSignal(requestId, signal), mostBytes(requestId)];
    return sendVerdict(await run('run-send', keys.request(requestId), args));
  }

  /** `together`: as in `start`. */
  async function resume(
    { requestId, name, digest, version, calls, further, signal }: RunResume,
    together?: WithAcceptance,
  ): Promise<ResumeVerdict> {
    const ofAll = [...keys.request(requestId), ...keysTogether(keys, together)];
    const own = [name, digest, version, writeSignal(requestId, signal), mostBytes(requestId), further ?? ''];
    const args = [...own, calls.length, ...calls, ...announced(together)];
    return resumeVerdict(await run('run-resume', ofAll, args));
  }

  /**
   * Notes that the caller is about to tell the run what to do: before it does, so that no death between leaves it out. The runs that it
   * descends from go on with its result.
   */
  async function noteSteering(requestId: string, caller: Actor): Promise<void> {
    for await (const id of facts.lineage(requestId))
      await run('run-steer', keys.request(id), [callerDigest(caller)]);
  }

  /** null when there is no such run. */
  async function head(requestId: string): Promise<RunHead | null> {
    const [state] = keys.request(requestId);
    return runHead(requestId, await connection.hmget(state, ...HEAD_FIELDS));
  }

  return {
    start,
    release,
    sentSequence: facts.sentSequence,
    traceparent: facts.traceparent,
    isSealed: facts.isSealed,
    hasSteered: facts.hasSteered,
    read,
    commit,
    send,
    resume,
    head,
    noteSteering,
  };
}

const HEAD_FIELDS = [
  'version',
  'status',
  'inbox',
  'wake_at',
  'outbox',
  'changed_at',
  'begin',
  'behind',
  'post|cancel',
  'replaced',
].map((attribute) => `@run|${attribute}`);

function runHead(requestId: string, values: readonly (string | null)[]): RunHead | null {
  const [version, status, inbox, wakeAt, outbox, changedAt, begin, behind, cancelled, replaced] = values;
  if (version === null || version === undefined) return null;
  return {
    version: Number(version),
    status: status as RunStatus,
    ended: inbox === null,
    unread: Boolean(inbox),
    wakeAt: wakeAt ? Number(wakeAt) : null,
    outbox: Number(outbox ?? 0),
    changedAt: Number(changedAt),
    begin: recordedBegin(begin ?? undefined),
    behind: behindOf(requestId, behind),
    isCancelled: Boolean(cancelled),
    isReplaced: Boolean(replaced),
  };
}

/** As once-release.lua has it. */
function behindOf(requestId: string, behind: string | null | undefined): string | null {
  if (!behind) return null;
  return `${requestId.slice(0, requestId.lastIndexOf('.'))}.${behind.slice(0, behind.indexOf(' '))}`;
}

/** Where the signals begin in the reply of run-read. */
const FIRST_SIGNAL = 14;

/** From the answer of run-read.lua. null: there is no such run. */
function runReading(requestId: string, reply: ScriptReply): RunReading | null {
  if (reply[0] === 'unknown') return null;
  const [
    ,
    version,
    status,
    now,
    createdAt,
    endedAt,
    traceparent,
    agent,
    inboxBytes,
    more,
    spec,
    document,
    begin,
    behind,
  ] = reply;
  return {
    version: Number(version),
    status: status as RunStatus,
    now: Number(now),
    createdAt: Number(createdAt),
    endedAt: endedAt === '' ? null : Number(endedAt),
    traceparent: String(traceparent),
    agent: String(agent),
    inboxBytes: Number(inboxBytes),
    more: more === 1,
    spec: String(spec),
    document: String(document),
    begin: recordedBegin(String(begin ?? '') || undefined),
    behind: behindOf(requestId, String(behind ?? '')),
    signals: reply.slice(FIRST_SIGNAL).map(signalText),
  };
}

function signalText(value: ScriptReply[number]): string | null {
  return value === null || value === 'null' ? null : String(value);
}

function startVerdict([kind, first, second]: ScriptReply): StartVerdict {
  if (kind === 'no_room') return { kind, bytes: Number(first) };
  if (kind === 'conflict') return { kind, storedDigest: String(first) };
  if (kind === 'started') return { kind };
  return { kind: 'existing', version: Number(first), status: second as RunStatus };
}

function resumeVerdict([kind, first, second]: ScriptReply): ResumeVerdict {
  if (kind === 'no_room') return { kind, bytes: Number(first) };
  if (kind === 'resumed') return { kind, version: Number(first) };
  if (kind === 'existing') return { kind, status: second as RunStatus };
  return { kind: kind as 'open' | 'version' | 'conflict' | 'unknown' };
}

function sendVerdict([kind, first, second, third]: ScriptReply): SendVerdict {
  if (kind === 'sent') return { kind, version: Number(second), waiting: Number(third) };
  if (kind === 'existing') return { kind, waiting: Number(second) };
  if (kind === 'no_room') return { kind, bytes: Number(first) };
  return { kind: kind as 'conflict' | 'ended' | 'full' | 'unknown' };
}

function commitVerdict([kind, first, second, third]: ScriptReply): CommitVerdict {
  if (kind === 'committed')
    return {
      kind,
      version: Number(first),
      now: Number(second),
      more: third === 1,
    };
  if (kind === 'conflict') return { kind, id: String(first) };
  if (kind === 'overflow') return { kind, open: Number(first) };
  if (kind === 'no_room') return { kind, bytes: Number(first) };
  return { kind: kind as 'version' | 'more' | 'unknown' };
}

/** More than runs may be nested. */
const MOST_ANCESTORS = 32;

/** null also: the spec is damaged, with which its run ends. */
function parentIn(spec: string | null, child: string): string | null {
  try {
    const { parent = null } = JSON.parse(spec ?? '{}') as { parent?: { request_id: string } | null };
    return parent === null ? null : scopedId(tenantOf(child), ownId(parent.request_id));
  } catch {
    return null;
  }
}

function createRunFacts(connection: RedisConnection, keys: KeySpace) {
  /** The signal that something of this name was posted with; null: nothing was. */
  async function sentSequence(requestId: string, name: string): Promise<number | null> {
    const [state] = keys.request(requestId);
    const posted = await connection.hget(state, `@run|post|${name}`);
    return posted === null ? null : Number(posted.slice(0, posted.indexOf(' ')));
  }

  /** The trace a run belongs to; null when there is no such run. */
  async function traceparent(requestId: string): Promise<string | null> {
    const [state] = keys.request(requestId);
    return connection.hget(state, '@run|trace');
  }

  /** Whether it was started encrypted; null when there is no such run. */
  async function isSealed(requestId: string): Promise<boolean | null> {
    const [state] = keys.request(requestId);
    const digest = await connection.hget(state, '@run|digest');
    return digest === null ? null : digest.startsWith(SEALED_DIGEST);
  }

  /** The run, and those that it descends from. */
  async function* lineage(requestId: string): AsyncGenerator<string> {
    for (let id: string | null = requestId, depth = 0; id !== null && depth < MOST_ANCESTORS; depth += 1) {
      yield id;
      const [, bodies] = keys.request(id);
      id = parentIn(await connection.hget(bodies, '@spec'), id);
    }
  }

  /** Whether the caller has told the run, or one that it descends from, what to do. false also: there is no such run. */
  async function hasSteered(requestId: string, caller: Actor): Promise<boolean> {
    const field = `@run|by|${callerDigest(caller)}`;
    for await (const id of lineage(requestId)) {
      const [state] = keys.request(id);
      // @guard other-approver-steered
      if ((await connection.hexists(state, field)) === 1) return true;
    }
    return false;
  }

  return { sentSequence, traceparent, isSealed, lineage, hasSteered };
}

/** How the digest of a run begins that was started encrypted: so that nothing else of it need be read. */
export const SEALED_DIGEST = 'sealed.';
