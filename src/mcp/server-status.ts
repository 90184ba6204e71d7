/** The status of a server, as code outside the pool sees it.
 *  It must never claim more than the pool knows: `ready` means connected with its tools read. */

export type ServerStatus = 'connecting' | 'ready' | 'unavailable';

/** A server that could not be reached, and is tried again. Instants are milliseconds since the epoch. */
export interface ServerOutage {
  readonly sinceAt: number;
  /** Attempts to reach it since then. */
  readonly tries: number;
  readonly retryAt: number;
  /** `auth`: it refuses us, and no call has to wait. */
  readonly type: 'network' | 'auth';
}
