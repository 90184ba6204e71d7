// An answer of a provider that is refused unread, because of its size or kind.
// Must never quote the answer.

export class RefusedAnswer extends Error {
  readonly reason: 'too_large' | 'redirect';

  constructor(reason: RefusedAnswer['reason'], message: string) {
    super(message);
    this.name = 'RefusedAnswer';
    this.reason = reason;
  }
}

const MAX_CAUSES = 8;

/** The refusal among an error and its causes; null: none. */
export function refusedAnswer(error: unknown): RefusedAnswer | null {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (current instanceof RefusedAnswer) return current;
    current = current.cause;
  }
  return null;
}
