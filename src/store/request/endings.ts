// Ends directives: of an attempt, alone or together with its job, or without a claim.
// Must never end one twice, nor for a worker whose claim was taken over: the script decides.
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { JournalOptions } from './journal.ts';
import type { RunScript, ScriptReply } from '../scripts.ts';
import { writeSignal } from '../log/stored-signal.ts';
import { type EndStatus, finishVerdict, type FinishVerdict } from './verdicts.ts';
import type { ClaimRef } from '../refs.ts';

/** Runs an end together with that of its job, as job-end.lua; answers as include-finish.lua says. */
export type EndWithJob = (
  keys: readonly string[],
  args: readonly (string | number)[],
  last: { texts: readonly string[]; failure: string },
) => Promise<ScriptReply>;

export interface FinishOptions {
  /** false: the claim was used to record an end, not to make an attempt. Default: true. */
  attempted?: boolean;
  /** The record of `keepTask` stays. Default: false. */
  leavesTask?: boolean;
  /** Default: the job ends later. */
  withJob?: EndWithJob | undefined;
  /** Type and message of the error with which it ends, kept with the job. Default: '', it succeeds. */
  failure?: string | undefined;
}

export interface EndingParts extends Pick<JournalOptions, 'keys' | 'onEnd' | 'onChange'> {
  run: RunScript;
  /** Returns the verdict, once the run that it names is woken. */
  wake: (requestId: string, verdict: FinishVerdict) => Promise<FinishVerdict>;
  /** How long a closed request stays readable, milliseconds. */
  keptMs: (requestId: string) => number;
  /** The most bytes of a request. */
  mostBytes: (requestId: string) => number;
}

/** As `finish_directive` reads it. */
const UNBEGUN = 3;

export function createEndings(parts: EndingParts) {
  const { keys, onEnd, onChange, run, wake, keptMs, mostBytes } = parts;

  async function finish(
    ref: ClaimRef,
    status: EndStatus,
    signals: readonly SignalDraft[],
    { attempted = true, leavesTask = false, withJob, failure = '' }: FinishOptions = {},
  ): Promise<FinishVerdict> {
    const how = attempted ? (leavesTask ? 2 : 0) : 1;
    const args = [ref.id, ref.fence, status, keptMs(ref.requestId), how, mostBytes(ref.requestId)];
    return end(ref.requestId, args, textsOf(ref.requestId, signals), { withJob, failure });
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
      return await end(requestId, args, textsOf(requestId, signals));
    } finally {
      // Also where no answer came: Redis may have written it all the same.
      onChange?.(requestId);
    }
  }

  /** `texts`: the last signals of the directive, the terminal one last. */
  async function end(
    requestId: string,
    args: (string | number)[],
    texts: readonly string[],
    { withJob, failure = '' }: Pick<FinishOptions, 'withJob' | 'failure'> = {},
  ): Promise<FinishVerdict> {
    const ofRequest = keys.request(requestId);
    const reply = await (withJob
      ? withJob(ofRequest, args, { texts, failure })
      : run('finish', ofRequest, [...args, ...texts]));
    const verdict = finishVerdict(reply);
    if (verdict.kind === 'ended' && verdict.closed) onEnd?.(requestId);
    return wake(requestId, verdict);
  }

  return { finish, endUnclaimed };
}

function textsOf(requestId: string, signals: readonly SignalDraft[]): string[] {
  return signals.map((signal) => writeSignal(requestId, signal));
}
