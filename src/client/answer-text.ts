/** The text of models in a stream of signals, as it arrives or at its end.
 *  It must never pass on text that a restart has voided without reporting the restart. */
import {
  type FoldedCall,
  type FoldedCalls,
  foldDelta,
  NO_CALLS,
  readDelta,
  type TextEvent,
} from '../contract/delta-fold.ts';
import type { Signal } from '../contract/signal.ts';

/** The text of every model call in `signals`, as it arrives: `for await (const event of followText(client.signals(id)))`. */
export async function* followText(
  signals: AsyncIterable<Signal>,
): AsyncGenerator<TextEvent, void, undefined> {
  let calls = NO_CALLS;
  for await (const signal of signals) {
    const read = readDelta(calls, signal);
    calls = read.calls;
    yield* read.events;
  }
}

/** The text of one model call; resolves at its end. If the signals end earlier: the text so far, null for none. */
export async function textOf(signals: AsyncIterable<Signal>, callId: string): Promise<FoldedCall | null> {
  let calls: FoldedCalls = NO_CALLS;
  for await (const signal of signals) {
    calls = foldDelta(calls, signal);
    if ((calls.get(callId)?.response ?? null) !== null) break;
  }
  return calls.get(callId) ?? null;
}
