// Runs as a turn sees them: read out of the journal, with the text of those that this engine wrote last kept at hand.
// Must never hand out a document that is not the one of its version.
import type { RunStatus } from '../contract/run.ts';
import type { Signal } from '../contract/signal.ts';
import type { RunNews } from '../journal/journal.ts';
import type { PieceSize } from '../journal/log-reader.ts';
import type { CommitVerdict, RunCommit, RunJournal } from '../journal/run-journal.ts';
import { truncatedBytes, type WholeResult } from '../journal/whole-result.ts';
import { readTexts } from './stored-text.ts';
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
  spec: RunSpec;
  /** The spec as it is stored, JSON. */
  specText: string;
  /** null before the first turn. */
  document: RunDocument | null;
  /** Why the run cannot be read (null: it can be): `document` is null then, `signals` empty, `spec` what is left of it. */
  fault: string | null;
  /** What it has not read, in the order of the log. */
  signals: Signal[];
  inboxBytes: number;
}

export type RunStore = ReturnType<typeof createRunStore>;

/** Documents are kept as text: each turn gets its own, whatever the last one did to it. */
interface Held extends Pick<StoredRun, 'version' | 'status' | 'traceparent' | 'agent'> {
  spec: string;
  document: string;
  startedAt: number;
}

const MOST_HELD = 512;
/** Characters; a larger document is read again for each turn. */
const LARGEST_HELD = 262_144;
/** What is read at once; the rest is for the next turn. */
export const TURN_SIZE: PieceSize = { limit: 200, bytes: 4_194_304 };
/** For who looks at the run only. */
export const NO_SIGNALS: PieceSize = { limit: 0, bytes: 0 };

/** `whole`: completes the answers that a turn reads. Default: what is in the log, for readers who show a run only. */
export function createRunStore(runs: RunJournal, whole: WholeResult = async (signal) => signal) {
  const held = new Map<string, Held>();

  /** null when there is no such run. */
  async function read(requestId: string, size: PieceSize = TURN_SIZE): Promise<StoredRun | null> {
    const known = held.get(requestId);
    const reading = await runs.read(requestId, { held: known?.version ?? null, ...size });
    if (!reading) {
      held.delete(requestId);
      return null;
    }
    const { version, now, createdAt, endedAt, status, traceparent, agent, inboxBytes } = reading;
    const { spec: specText, document: text } = known?.version === version ? known : reading;
    const texts = { requestId, agent, version, spec: specText, document: text, signals: reading.signals };
    const { spec, document, signals, fault } = readTexts(texts);
    return {
      requestId,
      version,
      status,
      now,
      endedAt,
      traceparent,
      agent,
      spec: { ...spec, started_at: createdAt },
      specText,
      document,
      fault,
      signals: await Promise.all(signals.map(whole)),
      inboxBytes,
    };
  }

  /** The run with the one signal that it has not read, where its document is at hand and the signal holds all; else null. */
  function withNews(requestId: string, version: number, { signal, now }: RunNews): StoredRun | null {
    const known = held.get(requestId);
    if (known?.version !== version || truncatedBytes(signal) !== null) return null;
    const { status, traceparent, agent, startedAt } = known;
    const spec = { ...(JSON.parse(known.spec) as RunSpec), started_at: startedAt };
    const document = JSON.parse(known.document) as RunDocument;
    const inboxBytes = `${signal.sequence},`.length;
    const facts = { requestId, version, status, now, endedAt: null, traceparent, agent };
    return { ...facts, spec, specText: known.spec, document, fault: null, signals: [signal], inboxBytes };
  }

  /** Keeps what was written at hand until the run ends. */
  async function commit(run: StoredRun, turn: RunCommit): Promise<CommitVerdict> {
    const verdict = await runs.commit(turn);
    const { requestId, traceparent, agent, spec } = run;
    if (verdict.kind === 'committed' && !turn.final)
      hold(requestId, {
        version: verdict.version,
        status: turn.status,
        traceparent,
        agent,
        startedAt: spec.started_at,
        spec: turn.spec || run.specText,
        document: turn.document,
      });
    else held.delete(requestId);
    return verdict;
  }

  function hold(requestId: string, texts: Held): void {
    held.delete(requestId);
    if (texts.document.length + texts.spec.length > LARGEST_HELD) return;
    held.set(requestId, texts);
    if (held.size > MOST_HELD) held.delete(held.keys().next().value ?? '');
  }

  return { read, withNews, commit };
}
