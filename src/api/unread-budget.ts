/** What all readers of streams together may leave unread in this process; beyond it the one that waits longest is cut.
 *  It must never cut a reader that reads. */

export interface UnreadBudget {
  /** A reader does not take its `bytes`. Call what is returned when it has. `cut` frees them; the reader comes back by itself. */
  hold(bytes: number, cut: () => void): () => void;
}

interface Unread {
  readonly bytes: number;
  readonly cut: () => void;
}

export function createUnreadBudget(limitBytes: number): UnreadBudget {
  /** In the order in which they began to wait. */
  const waiting = new Set<Unread>();
  let heldBytes = 0;

  function release(unread: Unread): boolean {
    if (!waiting.delete(unread)) return false;
    heldBytes -= unread.bytes;
    return true;
  }

  return {
    hold(bytes, cut) {
      const unread = { bytes, cut };
      waiting.add(unread);
      heldBytes += bytes;
      for (const longest of waiting) {
        if (heldBytes <= limitBytes) break;
        if (release(longest)) longest.cut();
      }
      return () => void release(unread);
    },
  };
}
