/** A React hook that follows a run or another request: the text of its model, its newest signal, its end.
 *  It must never show text that a restart has voided, or the state of another request. */
import { useEffect, useState } from 'react';
import { type DirectiveClient, followText, type Signal } from '../src/client/plain-client.ts';

/** State of a request that is followed. */
export interface FollowedRun {
  /** Output of the latest model call so far. */
  readonly text: string;
  /** Newest signal; null: none has arrived. Its `sequence` is the offset to resume from. */
  readonly signal: Signal | null;
  /** Whether the request is closed: no signal follows. */
  readonly ended: boolean;
  /** Error that ended the following, such as `DirectiveRefused`; null: none. A lost connection is none: it is opened again. */
  readonly error: unknown;
}

const NOTHING: FollowedRun = { text: '', signal: null, ended: false, error: null };

/**
 * Follows a request for as long as the component is shown.
 * @param client Client of the service; the same one for each rendering. Another client, as with a new token, follows anew.
 * @param requestId Id of the request; null: none is followed.
 * @param after Follows signals after this sequence. Default: 0.
 * @returns The state, which changes with each signal.
 * @example
 * ```tsx
 * const client = createHttpClient({ baseUrl: 'https://adjutant.example.com', apiKey: token });
 * function Answer({ requestId }: { requestId: string }) {
 *   const { text, ended } = useRun(client, requestId);
 *   return <p aria-busy={!ended}>{text}</p>;
 * }
 * ```
 */
export function useRun(
  client: Pick<DirectiveClient, 'signals'>,
  requestId: string | null,
  after: number = 0,
): FollowedRun {
  const [state, setState] = useState({ client, requestId, after, followed: NOTHING });
  useEffect(() => {
    setState({ client, requestId, after, followed: NOTHING });
    if (requestId === null) return;
    const stop = new AbortController();
    const change = (changes: Partial<FollowedRun>): void => {
      if (stop.signal.aborted) return;
      setState((before) => ({ ...before, followed: { ...before.followed, ...changes } }));
    };
    follow(client.signals(requestId, { after, signal: stop.signal }), change).then(
      () => change({ ended: true }),
      (error: unknown) => change({ error }),
    );
    return () => stop.abort();
  }, [client, requestId, after]);
  // The first rendering with another request comes before its effect: the state is the former request's then.
  const isOfRequest = state.client === client && state.requestId === requestId && state.after === after;
  return isOfRequest ? state.followed : NOTHING;
}

async function follow(
  signals: AsyncIterable<Signal>,
  change: (changes: Partial<FollowedRun>) => void,
): Promise<void> {
  async function* noted(): AsyncGenerator<Signal, void, undefined> {
    for await (const signal of signals) {
      change({ signal });
      yield signal;
    }
  }
  let shown = { call: '', text: '' };
  for await (const event of followText(noted())) {
    if (event.kind !== 'content' && event.kind !== 'restart') continue;
    const isFurther = event.kind === 'content' && event.call_id === shown.call;
    const added = event.kind === 'content' ? event.text : '';
    shown = { call: event.call_id, text: isFurther ? shown.text + added : added };
    change({ text: shown.text });
  }
}
