/** A finding of the doctor about one place.
 *  It must never name a fault without a way to fix it. */

export interface Finding {
  /** The examined part: `redis`, `mcp everything`. */
  readonly subject: string;
  readonly ok: boolean;
  /** The state, in a sentence. */
  readonly says: string;
  /** Remedy; null when none is needed. A finding that is ok may have one: advice. */
  readonly fix: string | null;
}

export function fine(subject: string, says: string): Finding {
  return { subject, ok: true, says, fix: null };
}

/** Does not keep the service from working, but is probably not intended. */
export function advice(subject: string, says: string, fix: string): Finding {
  return { subject, ok: true, says, fix };
}

export function fault(subject: string, says: string, fix: string): Finding {
  return { subject, ok: false, says, fix };
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
