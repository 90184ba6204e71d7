// The timer of an attempt's deadline.
// Must never fire after a longer timer that was set later, also where the process stood still over both.

/** Timers of the same time share a list, and one of its own costs as much as the rest of an attempt's timers. */
const SHARED_STEP_MS = 1_000;

/** Calls `then` after `ms`: at first in whole seconds. Returns how to end it. */
export function after(ms: number, then: () => void): () => void {
  if (ms <= SHARED_STEP_MS) {
    const only = setTimeout(then, ms);
    return () => clearTimeout(only);
  }
  const endsAt = performance.now() + ms;
  let timer = setTimeout(last, ms - (ms % SHARED_STEP_MS));
  function last(): void {
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0) then();
    else timer = setTimeout(then, leftMs);
  }
  return () => clearTimeout(timer);
}
