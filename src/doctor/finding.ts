/** What the doctor found in one place.
 *  It must never name a fault without a way to fix it. */

export interface Finding {
  /** What was looked at: `redis`, `mcp everything`. */
  readonly subject: string;
  readonly ok: boolean;
  /** What is, in a sentence. */
  readonly says: string;
  /** What to do about it; null when there is nothing to do. What is in order may have one: it is advice. */
  readonly fix: string | null;
}

export function fine(subject: string, says: string): Finding {
  return { subject, ok: true, says, fix: null };
}

/** Nothing that keeps the service from working, but probably not what was meant. */
export function advice(subject: string, says: string, fix: string): Finding {
  return { subject, ok: true, says, fix };
}

export function fault(subject: string, says: string, fix: string): Finding {
  return { subject, ok: false, says, fix };
}
