// Runs as a turn reads them: from the journal, with the latest texts of this engine kept in memory.
// Must never return a document of another version.
import type { RunStatus } from '../contract/run.ts';
import type { Signal, SignalDraft } from '../contract/signal.ts';
import type { ComingEnd, RunNews, WithAcceptance } from '../journal/journal.ts';
import type { RecordedBegin } from '../journal/records.ts';
import type { PieceSize } from '../journal/signal-log.ts';
import type { CommitVerdict, RunCommit, RunJournal, RunReading } from '../journal/run-journal.ts';
import { truncatedBytes, type WholeResult } from '../journal/whole-result.ts';
import type { RunFailure } from './broken-run.ts';
import { createHeldRuns, type Held } from './held-runs.ts';
import type { RunSeal } from './run-seal.ts';
import { asStored, type OpenRun } from './run-vault.ts';
import { readOwn, type ReadTexts, readTexts } from './stored-text.ts';
import type { RunDocument, RunSpec } from './transition.ts';

/** One run as it was read. Instants are milliseconds since the epoch, by the clock of Redis. */
export interface StoredRun {
  requestId: string;
  version: number;
  status: RunStatus;
  now: number;
  endedAt: number | null;
  traceparent: string;
  agent: string;
  /** Its caller said when it begins; null: nobody did, or it has begun. */
  begin: RecordedBegin | null;
  /** The request for whose end it waits; null: it waits for none. */
  behind: string | null;
  spec: RunSpec;
  /** The stored spec, JSON. */
  specText: string;
  /** It holds the agent and its tools. */
  hasSetup: boolean;
  /** null before the first turn. */
  document: RunDocument | null;
  /** Why the run cannot be read (null: it can): then `document` is null, `signals` empty, `spec` the readable rest. */
  fault: string | null;
  /** With what it is encrypted, where it was opened; null: it is in clear, or was not opened. */
  seal: RunSeal | null;
  /** Why an encrypted run cannot be opened here; null: it can. Then `fault` says so as well. */
  lock: RunFailure | null;
  /** An engine of a later version has written it, and this one cannot take its turns: then `document` is null. */
  later: boolean;
  /** The unread signals, in the order of the log. */
  signals: Signal[];
  unreadBytes: number;
}

export type RunStore = ReturnType<typeof createRunStore>;

/** Read at once; the rest is left for the next turn. */
export const TURN_SIZE: PieceSize = { limit: 200, bytes: 4_194_304 };
/** For callers that only view the run. */
export const NO_SIGNALS: PieceSize = { limit: 0, bytes: 0 };

export interface RunStoreOptions {
  /** Completes the answers that a turn reads. Default: as they are in the log, for callers that only view a run. */
  whole?: WholeResult;
  /** Opens what is encrypted. Default: it stays as it is stored, for callers that only view a run. */
  open?: OpenRun;
  /** Awaited between the steps of long work. Default: they follow at once. */
  nextStep?: (() => Promise<void>) | undefined;
}

export function createRunStore(runs: RunJournal, options: RunStoreOptions = {}) {
  const reading = { whole: options.whole ?? asInLog, open: options.open ?? asStored };
  const held = createHeldRuns();

  /** null when there is no such run. */
  async function read(requestId: string, size: PieceSize = TURN_SIZE): Promise<StoredRun | null> {
    const known = held.get(requestId);
    const found = await runs.read(requestId, { held: known?.version ?? null, ...size });
    if (!found) {
      held.delete(requestId);
      return null;
    }
    const { version } = found;
    const texts = known?.version === version ? { spec: known.spec, document: known.document } : {};
    return opened(requestId, { ...found, ...texts });
  }

  /** The run as it was read, all of it. */
  async function opened(requestId: string, found: RunReading): Promise<StoredRun> {
    await options.nextStep?.();
    return storedRun(requestId, found, reading);
  }

  /** The run with its one unread signal, if its document is in memory and the signal is complete; else null. */
  function withNews(requestId: string, version: number, news: RunNews): StoredRun | null {
    const known = held.get(requestId);
    return known?.version === version ? heldRun(requestId, known, news) : null;
  }

  /** The run with the end of a directive that is written with the turn that reads it; null as in `withNews`. */
  function withEnd(requestId: string, draft: SignalDraft): StoredRun | null {
    const known = held.get(requestId);
    if (known === undefined) return null;
    // Not later than the clock of Redis when the turn is written.
    const now = Math.floor(known.writtenAt + performance.now() - known.knownAt);
    // Its place in the log is not known yet, and no turn reads it.
    return heldRun(requestId, known, { signal: { ...draft, sequence: 0 } as Signal, now });
  }

  /** Keeps what was written in memory until the run ends; of an encrypted run nothing. `end`: as the journal has it. */
  async function commit(
    run: StoredRun,
    turn: RunCommit,
    together?: WithAcceptance,
    end?: ComingEnd,
  ): Promise<CommitVerdict> {
    const verdict = await runs.commit(turn, together, end);
    const { requestId, traceparent, agent, spec } = run;
    if (verdict.kind === 'committed' && !turn.final && run.seal === null)
      held.set(requestId, {
        version: verdict.version,
        status: turn.status,
        traceparent,
        agent,
        startedAt: spec.started_at,
        spec: turn.spec || run.specText,
        document: turn.document,
        writtenAt: verdict.now,
        knownAt: performance.now(),
      });
    else held.delete(requestId);
    return verdict;
  }

  const { holds, noteSlow } = held;
  return { read, opened, holds, noteSlow, withNews, withEnd, commit };
}

/** null: its signal is not complete. */
function heldRun(requestId: string, known: Held, { signal, now }: RunNews): StoredRun | null {
  if (truncatedBytes(signal) !== null) return null;
  const { version, status, traceparent, agent, startedAt } = known;
  const { spec, document } = readOwn(known);
  const unreadBytes = `${signal.sequence},`.length;
  const facts = { requestId, version, status, now, endedAt: null, traceparent, agent };
  return {
    ...facts,
    begin: null,
    behind: null,
    spec: { ...spec, started_at: startedAt },
    specText: known.spec,
    hasSetup: true,
    document,
    fault: null,
    seal: null,
    lock: null,
    later: false,
    signals: [signal],
    unreadBytes,
  };
}

const asInLog: WholeResult = async (_requestId, signal) => signal;

async function storedRun(
  requestId: string,
  reading: RunReading,
  { whole, open }: Required<Pick<RunStoreOptions, 'whole' | 'open'>>,
): Promise<StoredRun> {
  const { version, agent, spec: specText, document: text, inboxBytes: unreadBytes } = reading;
  const texts = { requestId, agent, version, spec: specText, document: text, signals: reading.signals };
  const stored = readTexts(texts);
  const isReadable = stored.fault === null && !stored.later;
  const opened = isReadable
    ? await open(requestId, stored)
    : ({ kind: 'opened', read: stored, seal: null } as const);
  const lock = opened.kind === 'locked' ? opened.failure : null;
  const seal = opened.kind === 'opened' ? opened.seal : null;
  const { spec, document, signals, fault, later, hasSetup } =
    opened.kind === 'opened' ? opened.read : unopened(stored, opened.failure);
  const { status, now, createdAt, endedAt, traceparent } = reading;
  return {
    requestId,
    version,
    status,
    now,
    endedAt,
    traceparent,
    agent,
    begin: reading.begin,
    behind: reading.behind,
    // Its deadline counts from when it might begin.
    spec: { ...spec, started_at: reading.begin?.at ?? createdAt },
    specText,
    hasSetup,
    document,
    fault,
    seal,
    lock,
    later,
    signals:
      seal === null ? await Promise.all(signals.map(async (signal) => whole(requestId, signal))) : signals,
    unreadBytes,
  };
}

function unopened(stored: ReadTexts, { message }: RunFailure): ReadTexts {
  return { ...stored, document: null, signals: [], fault: message };
}
