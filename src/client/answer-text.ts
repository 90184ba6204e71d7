/** The text of models in a stream of signals, as it arrives or at its end.
 *  It must never pass on text that a restart has voided without reporting the restart. */
import {
  type FoldedCall,
  type FoldedCalls,
  foldDelta,
  NO_CALLS,
  readDelta,
  type TextEvent,
} from '../contract/model/delta-fold.ts';
import type { Signal } from '../contract/signal/signal.ts';

/**
 * Yields the text of every model call in a stream of signals as it arrives.
 * @param signals Signals of a request, in their order.
 * @returns Events with the added text, the restart of a call, or its end.
 * @example
 * ```ts
 * import { createHttpClient, followText } from 'adjutant/client';
 * const client = createHttpClient({ baseUrl: 'http://127.0.0.1:7420' });
 * for await (const event of followText(client.signals('request-1'))) console.log(event);
 * ```
 */
export async function* followText(
  signals: AsyncIterable<Signal>,
): AsyncGenerator<TextEvent, void, undefined> {
  // Each call is folded alone: a fold is copied with each signal.
  const calls = new Map<string, FoldedCalls>();
  for await (const signal of signals) {
    const { call_id: id = '' } = signal.data as { call_id?: string };
    const read = readDelta(calls.get(id) ?? NO_CALLS, signal);
    calls.set(id, read.calls);
    yield* read.events;
  }
}

/**
 * Collects the text of one model call until its end.
 * @param signals Signals of the request, in their order.
 * @param callId Id of the directive that calls the model.
 * @returns The output; where the signals end earlier, the output so far, or null for none.
 * @example
 * ```ts
 * import { createHttpClient, textOf } from 'adjutant/client';
 * const client = createHttpClient({ baseUrl: 'http://127.0.0.1:7420' });
 * const call = await textOf(client.signals('request-1'), 'directive-1');
 * ```
 */
export async function textOf(signals: AsyncIterable<Signal>, callId: string): Promise<FoldedCall | null> {
  let calls: FoldedCalls = NO_CALLS;
  for await (const signal of signals) {
    calls = foldDelta(calls, signal);
    if ((calls.get(callId)?.response ?? null) !== null) break;
  }
  return calls.get(callId) ?? null;
}
