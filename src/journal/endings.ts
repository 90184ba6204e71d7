// Ends directives: of an attempt, alone or together with its job, or without a claim.
// Must never end one twice, nor for a worker whose claim was taken over: the script decides.
import type { Signal, SignalDraft } from '../contract/signal.ts';
import type { ClaimRef, EndedWithTurn, JournalOptions, RunNews } from './journal.ts';
import type { RunScript, ScriptReply } from './scripts.ts';
import { writeSignal } from './stored-signal.ts';
import { type EndStatus, finishVerdict, type FinishVerdict } from './verdicts.ts';

/** Runs an end together with that of its job, as job-end.lua; answers as include-finish.lua says. */
export type EndWithJob = (
  keys: readonly string[],
  args: readonly (string | number)[],
  last: Pick<LastSignals, 'texts'> & { failure: string },
) => Promise<ScriptReply>;

export interface FinishOptions {
  /** false: the claim was used to record an end, not to make an attempt. Default: true. */
  attempted?: boolean;
  /** What `keepTask` wrote stays. Default: false. */
  leavesTask?: boolean;
  /** Default: the job ends later. */
  withJob?: EndWithJob | undefined;
  /** Type and message of the error with which it ends, kept with the job. Default: '', it succeeds. */
  failure?: string | undefined;
}

export interface EndingParts extends Pick<
  JournalOptions,
  'connection' | 'keys' | 'mayTellEngine' | 'endWithTurn' | 'onEnd' | 'onChange'
> {
  run: RunScript;
  /** Returns the verdict, once the run that it names is woken. */
  wake: (requestId: string, verdict: FinishVerdict, news?: RunNews) => Promise<FinishVerdict>;
  /** How long a closed request stays readable, milliseconds. */
  keptMs: (requestId: string) => number;
  /** The most bytes of a request. */
  mostBytes: (requestId: string) => number;
}

/** Of a directive, the terminal one last. A result may be large: it is written as text once. */
interface LastSignals {
  signals: readonly SignalDraft[];
  texts: readonly string[];
}

/** As `finish_directive` reads it. */
const UNBEGUN = 3;

export function createEndings(parts: EndingParts) {
  const { connection, keys, mayTellEngine, endWithTurn, onEnd, onChange, run, wake, keptMs, mostBytes } =
    parts;

  async function finish(
    ref: ClaimRef,
    status: EndStatus,
    signals: readonly SignalDraft[],
    { attempted = true, leavesTask = false, withJob, failure = '' }: FinishOptions = {},
  ): Promise<FinishVerdict> {
    const how = attempted ? (leavesTask ? 2 : 0) : 1;
    const words = [ref.id, ref.fence, status, keptMs(ref.requestId), how];
    const texts = signals.map((signal) => writeSignal(ref.requestId, signal));
    const last = { signals, texts };
    const ahead = withJob ? null : await endedWithTurn(ref.requestId, words, last);
    if (ahead === null)
      return end(ref.requestId, [...words, mostBytes(ref.requestId)], last, { withJob, failure });
    const verdict = finishVerdict(ahead.reply);
    return ahead.isRead ? verdict : settled(ref.requestId, verdict, signals);
  }

  async function endedWithTurn(
    requestId: string,
    words: readonly (string | number)[],
    { signals, texts }: LastSignals,
  ): Promise<EndedWithTurn | null> {
    const signal = signals.at(-1);
    if (!endWithTurn || signal === undefined || connection.isCluster) return null;
    return endWithTurn(requestId, { signal, words: [...words, ...texts] });
  }

  /** Ends a directive without a claim: past its deadline, or ended by an operator. `onlyUnbegun`: what has begun is `stale`. */
  async function endUnclaimed(
    requestId: string,
    id: string,
    status: EndStatus,
    signals: readonly SignalDraft[],
    { onlyUnbegun = false }: { onlyUnbegun?: boolean } = {},
  ): Promise<FinishVerdict> {
    const how = onlyUnbegun ? UNBEGUN : 0;
    const args = [id, '', status, keptMs(requestId), how, mostBytes(requestId)];
    try {
      const texts = signals.map((signal) => writeSignal(requestId, signal));
      return await end(requestId, args, { signals, texts });
    } finally {
      // Also where no answer came: Redis may have written it all the same.
      onChange?.(requestId);
    }
  }

  async function end(
    requestId: string,
    args: (string | number)[],
    { signals, texts }: LastSignals,
    { withJob, failure = '' }: Pick<FinishOptions, 'withJob' | 'failure'> = {},
  ) {
    const tells = !connection.isCluster && mayTellEngine?.();
    const ofRequest = keys.request(requestId);
    const reply = await (withJob
      ? withJob(ofRequest, [...args, tells ? 1 : 0], { texts, failure })
      : run('finish', [...ofRequest, ...(tells ? [keys.sweep] : [])], [...args, ...texts]));
    return settled(requestId, finishVerdict(reply), signals);
  }

  /** Whoever has something to do after the end is told. */
  async function settled(
    requestId: string,
    verdict: FinishVerdict,
    signals: readonly SignalDraft[],
  ): Promise<FinishVerdict> {
    if (verdict.kind === 'ended' && verdict.closed) onEnd?.(requestId);
    if (verdict.kind === 'ended' && verdict.told) return verdict;
    return wake(requestId, verdict, newsOf(verdict, signals.at(-1)));
  }

  return { finish, endUnclaimed };
}

/** What the run would read, if that is all there is. */
function newsOf(verdict: FinishVerdict, terminal: SignalDraft | undefined): RunNews | undefined {
  if (verdict.kind !== 'ended' || !verdict.alone || !terminal) return undefined;
  return { signal: { ...terminal, sequence: verdict.sequence } as Signal, now: verdict.now };
}
