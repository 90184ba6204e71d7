/** The signals of a request for a page: a plain array that grows, and one notification a frame.
 *  It must never copy the array: a log has up to 100,000 entries. */
import { useEffect, useRef, useState } from 'react';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { followRequest, type LiveState } from './live.ts';

export interface SignalLog {
  /** Grows in place: read it while drawing, and depend on `size`. */
  readonly signals: readonly Signal[];
  readonly size: number;
  readonly state: LiveState;
  /** Cause of the state `failed`. */
  readonly error: Error | null;
}

/** null: no request is followed. */
export function useSignals(requestId: string | null): SignalLog {
  const signals = useRef<Signal[]>([]);
  const [drawn, draw] = useState<Omit<SignalLog, 'signals'>>({ size: 0, state: 'loading', error: null });
  useEffect(() => {
    const log: Signal[] = [];
    signals.current = log;
    draw({ size: 0, state: 'loading', error: null });
    if (requestId === null) return undefined;
    let frame = 0;
    const stop = followRequest(requestId, {
      signals(added) {
        for (const signal of added) log.push(signal);
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          draw((old) => ({ ...old, size: log.length }));
        });
      },
      state: (state, error) => draw({ size: log.length, state, error }),
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [requestId]);
  return { signals: signals.current, ...drawn };
}
