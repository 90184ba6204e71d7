// Writes why a directive does not go on, for those who hold no claim of it: the sweeper.
// Must never change what becomes of the directive, nor wake anything.
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { type WaitFacts, waitOf } from '../../contract/request/waiting.ts';
import type { KeySpace } from '../keys.ts';
import type { RunScript } from '../scripts.ts';
import { draftSignal, type SignalOrigin } from '../log/signal-draft.ts';
import { directiveMetadata } from '../log/terminal-signal.ts';
import { writeSignal } from '../log/stored-signal.ts';

export type WaitSignal = Extract<SignalDraft, { type: 'directive.waiting' }>;

/** It is of no attempt: the origin's number is left out. `pauses`: as in the signal; null: it counts none. */
export function waitSignal(
  directive: Directive,
  lane: string,
  wait: WaitFacts,
  { requestId, causationId, traceparent }: SignalOrigin,
  pauses: number | null = null,
): WaitSignal {
  const metadata = directiveMetadata(directive);
  const counted = pauses === null ? {} : { pauses };
  const data = { call_id: directive.id, lane, ...waitOf(lane, wait), ...counted, metadata };
  return draftSignal('directive.waiting', data, { requestId, causationId, traceparent }) as WaitSignal;
}

/** The wait signal of a run that no engine advances: the run represents a directive of the lane of runs. */
export function runWaitSignal(
  lane: string,
  wait: WaitFacts,
  { requestId, traceparent }: Pick<SignalOrigin, 'requestId' | 'traceparent'>,
): WaitSignal {
  const data = { call_id: requestId, lane, ...waitOf(lane, wait), metadata: {} };
  const origin = { requestId, causationId: requestId, traceparent };
  return draftSignal('directive.waiting', data, origin) as WaitSignal;
}

/** `mostBytes`: what a request may hold. */
export function createWaitNotes(run: RunScript, keys: KeySpace, mostBytes: (requestId: string) => number) {
  /** `seen`: the directive at the time when the reason of its wait was found. */
  async function noteWait(
    requestId: string,
    { id, status, fence }: { id: string; status: string; fence: number },
    signal: WaitSignal,
  ): Promise<'said' | 'known' | 'stale'> {
    const { reason, until } = signal.data;
    const untilAt = until === null ? '-' : Date.parse(until);
    const args = [
      id,
      `${status}/${fence}`,
      reason,
      untilAt,
      mostBytes(requestId),
      writeSignal(requestId, signal),
    ];
    const [kind] = await run('wait-note', keys.request(requestId), args);
    return kind as 'said' | 'known' | 'stale';
  }

  return { noteWait };
}
