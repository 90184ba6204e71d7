/** What carries an operation of the benchmark from the client to the worker and its end back.
 *  It must never include the opening of connections in an operation. */
import type { Operation } from './load.ts';

export interface Transport {
  /** One no-op, from its submission to its known end. Rejects when it did not succeed. */
  readonly operation: Operation;
  /** What else the last load showed, in a sentence. */
  note?(): Promise<string>;
  close(): Promise<void>;
}

/** Where the parts of a scenario are. */
export interface Target {
  readonly redisPort: number;
  /** Of a cluster. Default: the one Redis of that port. */
  readonly redisUrl?: string;
  /** Name of the baseline's queue. */
  readonly queue: string;
  /** Of the HTTP service; of several APIs with commas between. */
  readonly baseUrl: string;
}
