/** What models say in a stream of signals, as it comes or at its end.
 *  It must never pass on words that a restart has made void without saying so. */
import {
  type FoldedCall,
  type FoldedCalls,
  foldDelta,
  NOTHING_SAID,
  readDelta,
  type TextEvent,
} from '../contract/delta-fold.ts';
import type { Signal } from '../contract/signal.ts';

/** The words of every model call in `signals`, as they come: `for await (const event of followText(client.signals(id)))`. */
export async function* followText(
  signals: AsyncIterable<Signal>,
): AsyncGenerator<TextEvent, void, undefined> {
  let calls = NOTHING_SAID;
  for await (const signal of signals) {
    const read = readDelta(calls, signal);
    calls = read.calls;
    yield* read.events;
  }
}

/** What one model call said; resolves at its end. When the signals end before it: what there is, null for nothing. */
export async function textOf(signals: AsyncIterable<Signal>, callId: string): Promise<FoldedCall | null> {
  let calls: FoldedCalls = NOTHING_SAID;
  for await (const signal of signals) {
    calls = foldDelta(calls, signal);
    if ((calls.get(callId)?.response ?? null) !== null) break;
  }
  return calls.get(callId) ?? null;
}
