/** Limits what all stream readers of this process leave unread; above the limit the reader that waits longest is cut.
 *  It must never cut a reader that reads. */

export interface UnreadBudget {
  /** A reader leaves `bytes` unread. Call the returned function when they are read. `cut` frees them; the reader reconnects. */
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
