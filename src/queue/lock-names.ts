// Under which lock the jobs of BullMQ's worker are, by the token with which it asks for them: what was handed over has a lock of its own.
// Must never forget a lock while its job may be extended or ended.

export function createLockNames() {
  const locks = new Map<string, string>();
  return {
    of: (token: string): string => locks.get(token) ?? token,
    /** Returns `reply`, whose job is under `lock`, and each that follows it under the token. */
    rename<R>(token: string, lock: string, reply: R): R {
      locks.set(token, lock);
      return reply;
    },
    forget: (token: string): void => void locks.delete(token),
  };
}
