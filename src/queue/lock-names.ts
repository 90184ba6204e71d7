// Under which lock the jobs of BullMQ's worker are, by the token with which it asks for them: what was handed over has a lock of its own.
// Must never forget a lock while its job may be extended or ended.

/** More than a worker has at once; older ones are of tokens whose end nobody heard of. */
const MOST_KNOWN = 4_096;

export function createLockNames() {
  const locks = new Map<string, string>();
  return {
    of: (token: string): string => locks.get(token) ?? token,
    /** Returns `reply`, whose job is under `lock`, and each that follows it under the token. */
    rename<R>(token: string, lock: string, reply: R): R {
      locks.set(token, lock);
      const [oldest] = locks.keys();
      if (locks.size > MOST_KNOWN && oldest !== undefined) locks.delete(oldest);
      return reply;
    },
    forget: (token: string): void => void locks.delete(token),
  };
}
