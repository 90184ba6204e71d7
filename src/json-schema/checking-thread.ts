/** A thread that checks values one by one within a time limit; a thread that passes the limit is replaced.
 *  It must never leave a request without a verdict, whatever happens to the thread. */
import { Worker } from 'node:worker_threads';
import { RecentlyUsed } from './recently-used.ts';
import { type CheckReply, type CheckRequest, KEPT_SCHEMAS } from './schema-thread.ts';

export type ThreadVerdict =
  | Exclude<CheckReply, { kind: 'ready' }>
  /** It is unknown whether the value fits. `isSlow`: because of what the schema asks for. */
  | { readonly kind: 'unchecked'; readonly reason: string; readonly isSlow: boolean }
  /** It waited behind a check of the same schema that took too long. */
  | { readonly kind: 'passed_over' };

/** Called when the check starts, so that waiting checks hold no copies. Throws when the value is not JSON. */
export type MakeRequest = () => Required<Pick<CheckRequest, 'schema'>> & Omit<CheckRequest, 'schemaId'>;

interface Check {
  readonly schemaId: number;
  readonly make: MakeRequest;
  readonly resolve: (verdict: ThreadVerdict) => void;
}

export interface CheckingThreadOptions {
  /** Most time that a check may take, compiling included, milliseconds. */
  readonly limitMs: number;
}

const THREAD_FILE = new URL(
  `./schema-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
);
/** More than any usable schema needs. */
const MAX_HEAP_MB = 256;

export class CheckingThread {
  readonly #limitMs: number;
  readonly #waiting: Check[] = [];
  #thread: Worker | null = null;
  #isReady = false;
  /** The schemas that the thread holds: both sides forget in the same order. */
  #given = new RecentlyUsed<true>(KEPT_SCHEMAS);
  #current: Check | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor({ limitMs }: CheckingThreadOptions) {
    this.#limitMs = limitMs;
  }

  /** Never rejects. A waiting check is dropped when its signal fires. */
  run(schemaId: number, make: MakeRequest, signal?: AbortSignal): Promise<ThreadVerdict> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve(ABANDONED);
      const drop = (): void => this.#drop(check);
      const check: Check = {
        schemaId,
        make,
        resolve(verdict) {
          signal?.removeEventListener('abort', drop);
          resolve(verdict);
        },
      };
      signal?.addEventListener('abort', drop, { once: true });
      this.#waiting.push(check);
      this.#next();
    });
  }

  async stop(): Promise<void> {
    for (const check of this.#waiting.splice(0)) check.resolve(unchecked('the service stops'));
    await this.#replace(unchecked('the service stops'));
  }

  #drop(check: Check): void {
    const position = this.#waiting.indexOf(check);
    if (position >= 0) this.#waiting.splice(position, 1);
    if (position >= 0 || this.#current === check) check.resolve(ABANDONED);
  }

  #next(): void {
    if (this.#current !== null || this.#waiting.length === 0) return;
    this.#thread ??= this.#start();
    if (!this.#isReady) return;
    const check = this.#waiting.shift() as Check;
    const request = requestOf(check, this.#given);
    if (request === null) {
      check.resolve(unchecked('the value is nested too deep or too large'));
      return this.#next();
    }
    this.#current = check;
    this.#thread.ref();
    this.#timer = setTimeout(() => this.#expire(check), this.#limitMs);
    this.#thread.postMessage(request);
  }

  #start(): Worker {
    const thread = new Worker(THREAD_FILE, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    this.#isReady = false;
    this.#given = new RecentlyUsed(KEPT_SCHEMAS);
    thread.on('message', (reply: CheckReply) => this.#receive(thread, reply));
    thread.on('error', () => this.#lose(thread));
    thread.on('exit', () => this.#lose(thread));
    return thread;
  }

  #receive(thread: Worker, reply: CheckReply): void {
    if (thread !== this.#thread) return;
    if (reply.kind === 'ready') this.#isReady = true;
    else this.#finish(reply);
    if (this.#current === null) thread.unref();
    this.#next();
  }

  #finish(verdict: ThreadVerdict): void {
    clearTimeout(this.#timer);
    const check = this.#current;
    this.#current = null;
    check?.resolve(verdict);
  }

  /** After a pause of this thread the verdict may have arrived already; it is read first. */
  #expire(check: Check): void {
    setImmediate(() => {
      if (this.#current !== check) return;
      void this.#replace(unchecked(`the check took longer than ${this.#limitMs} ms`, true));
      for (const other of this.#waiting.splice(0)) {
        if (other.schemaId === check.schemaId) other.resolve({ kind: 'passed_over' });
        else this.#waiting.push(other);
      }
      this.#next();
    });
  }

  async #replace(verdict: ThreadVerdict): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    this.#finish(verdict);
    await thread?.terminate();
  }

  /** The thread ran out of memory or stack, or did not start. The first waiting check fails, so that none waits for ever. */
  #lose(thread: Worker): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    this.#current ??= this.#waiting.shift() ?? null;
    this.#finish(unchecked('the check needs too much memory', true));
    this.#next();
  }
}

function requestOf({ schemaId, make }: Check, given: RecentlyUsed<true>): CheckRequest | null {
  try {
    const { schema, ...request } = make();
    const known = given.get(schemaId) === true;
    given.set(schemaId, true);
    return { schemaId, ...request, ...(known ? {} : { schema }) };
  } catch {
    return null;
  }
}

function unchecked(reason: string, isSlow = false): ThreadVerdict {
  return { kind: 'unchecked', reason, isSlow };
}

const ABANDONED = unchecked('the caller has stopped waiting');
