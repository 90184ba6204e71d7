/** The state of the page's data, live or not and since when: one word in the top bar.
 *  It must never say Live while nothing comes. */
import { useEffect, useSyncExternalStore } from 'react';
import type { LiveState } from '../data/live.ts';
import { useReach } from '../data/reach.ts';
import { shownState } from './shown-state.ts';
import './live-state.css';

const WORDS: Readonly<Record<LiveState, string>> = {
  loading: 'Loading',
  live: 'Live',
  reconnecting: 'Reconnecting',
  paused: 'Paused',
  ended: 'Ended',
  failed: 'Not live',
};

let shown: LiveState | null = null;
const listeners = new Set<() => void>();

function show(state: LiveState | null): void {
  shown = state;
  for (const listener of listeners) listener();
}

/** For a page with a stream of its own. Without one, the word says whether the service answers. */
export function useShownLiveState(state: LiveState): void {
  useEffect(() => {
    show(state);
    return () => show(null);
  }, [state]);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function LiveMark() {
  const ofPage = useSyncExternalStore(subscribe, () => shown);
  const { answers } = useReach();
  const state = shownState(ofPage, answers);
  return (
    <span className={`live live-${state}`} role="status">
      <span className="live-dot" aria-hidden="true" />
      {WORDS[state]}
    </span>
  );
}
