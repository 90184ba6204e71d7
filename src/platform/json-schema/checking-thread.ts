/** A thread that checks values one by one within a time limit, tenants by turns; a thread that passes the limit is replaced.
 *  It must never leave a request without a verdict, whatever happens to the thread. */
import { Worker } from 'node:worker_threads';
import { RecentlyUsed } from './recently-used.ts';
import { type CheckReply, type CheckRequest, type CheckVerdict, KEPT_SCHEMAS } from './schema-thread.ts';

export type ThreadVerdict =
  | CheckVerdict
  /** It is unknown whether the value fits. `isSlow`: because of what the schema asks for. */
  | { readonly kind: 'unchecked'; readonly reason: string; readonly isSlow: boolean }
  /** While it waited, a check became known for which it belongs to another thread. */
  | { readonly kind: 'passed_over' }
  /** As many checks of its tenant wait as may. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Called when the check starts, so that waiting checks hold no copies. Throws when the value is not JSON. */
export type MakeRequest = () => Required<Pick<CheckRequest, 'schema'>> & Omit<CheckRequest, 'schemaId'>;

export interface CheckOrder {
  readonly schemaId: number;
  readonly tenant: string;
  readonly make: MakeRequest;
  /** Whether it may be refused where too many of its tenant wait: nothing has been done for it. */
  readonly mayBeRefused: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Asked when it is its turn: whether another thread takes it by now. */
  readonly isPassedOver: () => boolean;
  /** Called when the thread has worked on it, for how long, also where its caller has gone meanwhile. */
  readonly onHeld: (heldMs: number, verdict: ThreadVerdict) => void;
}

interface Check extends Omit<CheckOrder, 'mayBeRefused' | 'signal'> {
  readonly resolve: (verdict: ThreadVerdict) => void;
}

/** Checks of one tenant that wait for one thread. */
const MOST_WAITING = 100;

/** Waiting checks: the oldest of each tenant by turns. */
class Turns {
  /** The tenant whose turn is next is first. None is empty. */
  readonly #waiting = new Map<string, Check[]>();

  add(check: Check): void {
    const own = this.#waiting.get(check.tenant);
    if (own === undefined) this.#waiting.set(check.tenant, [check]);
    else own.push(check);
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  isFull(tenant: string): boolean {
    return (this.#waiting.get(tenant)?.length ?? 0) >= MOST_WAITING;
  }

  next(): Check | undefined {
    const [turn] = this.#waiting;
    if (turn === undefined) return undefined;
    const [tenant, own] = turn;
    this.#waiting.delete(tenant);
    const check = own.shift();
    if (own.length > 0) this.#waiting.set(tenant, own);
    return check;
  }

  /** Whether it was waiting. */
  remove(check: Check): boolean {
    const own = this.#waiting.get(check.tenant) ?? [];
    const position = own.indexOf(check);
    if (position < 0) return false;
    own.splice(position, 1);
    if (own.length === 0) this.#waiting.delete(check.tenant);
    return true;
  }

  takeAll(): Check[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return all;
  }
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
  readonly #waiting = new Turns();
  #thread: Worker | null = null;
  #isReady = false;
  /** The schemas that the thread holds: both sides forget in the same order. */
  #given = new RecentlyUsed<true>(KEPT_SCHEMAS);
  #current: Check | null = null;
  #begunAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ limitMs }: CheckingThreadOptions) {
    this.#limitMs = limitMs;
  }

  /** Never rejects. A waiting check is dropped when its signal fires. */
  run({ signal, mayBeRefused, ...order }: CheckOrder): Promise<ThreadVerdict> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve(ABANDONED);
      if (mayBeRefused && this.#waiting.isFull(order.tenant)) return resolve(REFUSED);
      const drop = (): void => this.#drop(check);
      const check: Check = {
        ...order,
        resolve(verdict) {
          signal?.removeEventListener('abort', drop);
          resolve(verdict);
        },
      };
      signal?.addEventListener('abort', drop, { once: true });
      this.#waiting.add(check);
      this.#next();
    });
  }

  async stop(): Promise<void> {
    for (const check of this.#waiting.takeAll()) check.resolve(unchecked('the service stops'));
    await this.#replace(unchecked('the service stops'));
  }

  #drop(check: Check): void {
    if (this.#waiting.remove(check) || this.#current === check) check.resolve(ABANDONED);
  }

  #next(): void {
    if (this.#current !== null || this.#waiting.isEmpty) return;
    this.#thread ??= this.#start();
    if (!this.#isReady) return;
    const check = this.#waiting.next() as Check;
    if (check.isPassedOver()) {
      check.resolve({ kind: 'passed_over' });
      return this.#next();
    }
    const request = requestOf(check, this.#given);
    if (request === null) {
      check.resolve(unchecked('the value is nested too deep or too large'));
      return this.#next();
    }
    this.#current = check;
    this.#begunAt = performance.now();
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
    else this.#finish(reply.verdict, reply.heldMs);
    if (this.#current === null) thread.unref();
    this.#next();
  }

  #finish(verdict: ThreadVerdict, heldMs = performance.now() - this.#begunAt): void {
    clearTimeout(this.#timer);
    const check = this.#current;
    this.#current = null;
    check?.onHeld(heldMs, verdict);
    check?.resolve(verdict);
  }

  /** After a pause of this thread the verdict may have arrived already; it is read first. */
  #expire(check: Check): void {
    setImmediate(() => {
      if (this.#current !== check) return;
      void this.#replace(unchecked(`the check took longer than ${this.#limitMs} ms`, true));
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
    if (this.#current === null) this.#begunAt = performance.now();
    this.#current ??= this.#waiting.next() ?? null;
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
const REFUSED: ThreadVerdict = { kind: 'refused', reason: 'too many checks of the tenant wait' };
