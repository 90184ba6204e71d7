// Stops a lane of this worker while its server is unreachable, so that waiting costs no attempts. Never stays open by
// itself: after each pause the lane is tried again, or a probe reports that the server is up.

export interface CircuitBreakerOptions {
  /** Connection failures in a row that open the breaker. */
  threshold: number;
  /** The first pause; each further one is twice as long, up to `longestPauseMs`. Milliseconds. */
  firstPauseMs: number;
  longestPauseMs: number;
  now?: () => number;
  /** The lane stops for `pauseMs` (Infinity: until further notice), or goes on (null). */
  onChange: (lane: string, pauseMs: number | null) => void;
}

interface LaneState {
  failures: number;
  openings: number;
  openUntil: number;
  /** The server is known to be down, by who keeps trying to reach it. */
  down: boolean;
}

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

export const DEFAULT_BREAKER = { threshold: 3, firstPauseMs: 1_000, longestPauseMs: 30_000 };

/** A call that meets a server just as it is tried again comes back after so long. */
const SHORTEST_DOWN_MS = 250;

export function createCircuitBreaker(options: CircuitBreakerOptions) {
  const { threshold, firstPauseMs, longestPauseMs, now = Date.now, onChange } = options;
  const lanes = new Map<string, LaneState>();

  function stateOf(lane: string): LaneState {
    const state = lanes.get(lane) ?? { failures: 0, openings: 0, openUntil: 0, down: false };
    lanes.set(lane, state);
    return state;
  }

  /** Time until the lane is tried again, milliseconds; null while it is not stopped. */
  function unreached(lane: string): number | null {
    const state = stateOf(lane);
    if (state.down) return downForMs(lane);
    state.failures += 1;
    if (state.failures < threshold) return null;
    const left = state.openUntil - now();
    if (left > 0) return left;
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(state.openings, 30), longestPauseMs);
    state.openings += 1;
    state.openUntil = now() + pauseMs;
    onChange(lane, pauseMs);
    return pauseMs;
  }

  /** Time until the lane is tried again, milliseconds; null while it is not stopped. Counts nothing. */
  function stoppedForMs(lane: string): number | null {
    const left = (lanes.get(lane)?.openUntil ?? 0) - now();
    return left > 0 ? left : null;
  }

  /** Who keeps trying to reach the server reports that it is down, and tries it again in so long: no call has to find out. */
  function down(lane: string, retryInMs: number): void {
    const state = stateOf(lane);
    const isNew = !state.down;
    state.down = true;
    state.openUntil = now() + retryInMs;
    if (isNew) onChange(lane, Infinity);
  }

  /** The opposite of `down`. */
  function up(lane: string): void {
    if (!lanes.get(lane)?.down) return;
    lanes.delete(lane);
    onChange(lane, null);
  }

  /** Time until the server is tried again, milliseconds; null while it is not known to be down. */
  function downForMs(lane: string): number | null {
    const state = lanes.get(lane);
    return state?.down ? Math.max(state.openUntil - now(), SHORTEST_DOWN_MS) : null;
  }

  /** Notes a success of a call. A call that was in flight before its server went down proves nothing. */
  function reached(lane: string): void {
    const state = lanes.get(lane);
    if (!state || state.down) return;
    lanes.delete(lane);
    if (state.openings > 0) onChange(lane, null);
  }

  return { unreached, stoppedForMs, reached, down, up, downForMs };
}
