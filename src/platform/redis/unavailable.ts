// Tells an absent Redis from a bug: callers get one kind of error that means "try again later".
// Must never turn a refusal or a bug into "try again later".
import { ServiceUnavailable } from '../../contract/problem.ts';

const RETRY_AFTER_MS = 1_000;

/** As Redis answers, and as a cluster connection repeats it after the last of many attempts. */
const REFUSALS =
  /^(Too many Cluster redirections\. Last error: (ReplyError: )?)?(LOADING|READONLY|OOM|MISCONF|CLUSTERDOWN|TRYAGAIN|MOVED|MASTERDOWN|NOREPLICAS|UNBLOCKED|BUSY)\b/;
const LOSSES =
  /Connection is closed|Command timed out|Connection lost|Stream isn't writeable|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|Socket timeout|max retries per request|None of startup nodes|Cluster isn't ready|Failed to refresh slots|Cluster is ended|No subscriber for the cluster|No sharded subscriber/i;

/** Whether `error` means that Redis is away or refuses at the moment. */
export function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return REFUSALS.test(error.message) || LOSSES.test(error.message);
}

/** Runs `call`; an absent Redis becomes `ServiceUnavailable`. */
export async function whileAvailable<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isRedisAway(error)) throw error;
    throw new ServiceUnavailable(whyAway(error as Error), { retryAfterMs: RETRY_AFTER_MS, cause: error });
  }
}

/** The reason in words, for an error of an absent or refusing Redis. */
export function whyAway({ message }: Pick<Error, 'message'>): string {
  const refusal = REFUSALS.exec(message)?.[3];
  if (refusal === 'OOM') return 'Redis is full: it holds as much as its maxmemory allows';
  if (refusal === 'MISCONF') return 'Redis refuses writes, because it cannot save to its disk';
  return refusal === undefined ? 'Redis is unreachable' : `Redis refuses commands at the moment (${refusal})`;
}
