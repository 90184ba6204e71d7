// Runs as a turn reads them from the journal, with what is encrypted opened and what is cut off completed.
// Must never write anything but a turn.
import type { RunStatus } from '../../contract/run/run.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { RecordedBegin } from '../../store/request/records.ts';
import type { PieceSize } from '../../store/log/signal-log.ts';
import type { RunJournal, RunReading } from '../../store/run/run-journal.ts';
import type { WholeResult } from '../../store/request/whole-result.ts';
import type { RunFailure } from './broken-run.ts';
import type { RunSeal } from '../encryption/run-seal.ts';
import { asStored, type OpenRun } from '../encryption/run-vault.ts';
import { type ReadTexts, readTexts } from './stored-text.ts';
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
  /** The begin that its caller set; null: none, or it has begun. */
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

  /** null when there is no such run. */
  async function read(requestId: string, size: PieceSize = TURN_SIZE): Promise<StoredRun | null> {
    const found = await runs.read(requestId, size);
    if (!found) return null;
    await options.nextStep?.();
    return storedRun(requestId, found, reading);
  }

  return { read, commit: runs.commit };
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
