// The BullMQ queue through which any BullMQ producer submits: a job is accepted as a directive or a run, and ends with it.
// Never fails a job for a lost connection, never lets BullMQ retry one, and never drops one.
import {
  DelayedError,
  type Job,
  type JobJson,
  Queue,
  UnrecoverableError,
  WaitingError,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import type { ClientOf } from '../../http/access/callers-client.ts';
import type { CustomTypes } from '../../contract/directive/custom-directive.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { DirectiveRefused, type Problem, problem, ServiceUnavailable } from '../../contract/problem.ts';
import { TERMINAL_RUN_STATUSES } from '../../contract/run/run.ts';
import { pause, type Startable } from '../../platform/lifecycle.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { isRedisAway, whileAvailable } from '../../platform/redis/unavailable.ts';
import { type Accepted, type AcceptanceParts, createAccept, createProofs } from './acceptance.ts';
import { askedBy, type DataBounds, type JobFacts, parseData } from './asked.ts';
import { directiveEnd, type JobEnd, refusedEnd, runEnd } from './job-end.ts';
import { createWaits } from './waits.ts';

/** The name of the queue, and the prefix under which BullMQ keeps it: one cluster slot, within the keys of the installation. */
const QUEUE_NAME = 'directives';
function queuePrefix(installation: string): string {
  return `{${installation}:queue}`;
}

export interface QueueApiOptions extends AcceptanceParts {
  readonly connection: RedisConnection;
  /** Key prefix of the installation. */
  readonly prefix: string;
  /** The client of a tenant, with which ends are awaited. */
  readonly clientOf: ClientOf;
  /** Secret that all processes of the installation share. */
  readonly secret: () => Promise<string>;
  readonly bounds: DataBounds;
  /** Types of directives that may be submitted beside those of the service. */
  readonly customTypes: CustomTypes;
  readonly onError: (error: Error) => void;
  /** Jobs in hand at once. Default: 1 000. */
  readonly slots?: number;
}

/** One script extends the locks of all jobs in hand: this many take it about 2 ms. */
const SLOTS = 1_000;
/** A job of a dead process is taken by another one after the lock and the check. */
const LOCK_MS = 10_000;
const STALLED_CHECK_MS = 5_000;
/** Processes that may die with a job in hand. What Redis holds in a form that BullMQ cannot read ends here, too. */
const MOST_STALLS = 100;
/** Jobs that have ended are kept so long where the producer does not say it: a day, and the last thousand. */
const KEPT = { age: 86_400, count: 1_000 };

const PARK_CHECK_MS = 1_000;
/** Delay of a job that has given its slot to others, before it is taken again. */
const PARKED_MS = 30_000;
const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Content of a job that is read before BullMQ parses it. */
interface Read {
  readonly data:
    | { readonly ok: true; readonly value: unknown }
    | { readonly ok: false; readonly refusal: DirectiveRefused };
  /** Set by BullMQ where a child has failed that fails its parent. */
  readonly deferredFailure: string | undefined;
}

/** Bounds the data of each job before BullMQ parses it. */
class BoundedWorker extends Worker {
  readonly #read = new WeakMap<Job, Read>();
  readonly #bounds: DataBounds;

  constructor(
    processor: (job: Job, token?: string) => Promise<unknown>,
    options: WorkerOptions,
    bounds: DataBounds,
  ) {
    super(QUEUE_NAME, processor, options);
    this.#bounds = bounds;
  }

  readOf(job: Job): Read {
    const read = this.#read.get(job);
    if (read === undefined) throw new Error('a job was processed that was not read');
    return read;
  }

  protected override createJob({ deferredFailure, ...json }: JobJson, id: string): Job {
    const data = this.#dataOf(json.data);
    const job = super.createJob({ ...json, data: data.ok ? json.data : '{}' }, id);
    this.#read.set(job, { data, deferredFailure });
    return job;
  }

  #dataOf(text: string): Read['data'] {
    try {
      return { ok: true, value: parseData(text, this.#bounds) };
    } catch (refusal) {
      if (refusal instanceof DirectiveRefused) return { ok: false, refusal };
      throw refusal;
    }
  }
}

/** The part of the API that serves the queue. */
export function createQueueApi(options: QueueApiOptions): Startable {
  const { connection, prefix, onError, slots = SLOTS } = options;
  const stopping = new AbortController();
  const waits = createWaits();
  const process = createProcess({ ...options, waits, stopping: stopping.signal });
  const keyPrefix = queuePrefix(prefix);
  let inHand = 0;
  const worker = new BoundedWorker(
    async (job, token) => {
      inHand += 1;
      try {
        return await process(job, worker.readOf(job), token);
      } finally {
        inHand -= 1;
      }
    },
    {
      connection,
      prefix: keyPrefix,
      autorun: false,
      concurrency: slots,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      maxStalledCount: MOST_STALLS,
      runRetryDelay: SHORTEST_PAUSE_MS,
      removeOnComplete: KEPT,
      removeOnFail: KEPT,
    },
    options.bounds,
  );
  const queue = new Queue(QUEUE_NAME, { connection, prefix: keyPrefix, skipMetasUpdate: true });
  let checking: NodeJS.Timeout | undefined;
  worker.on('error', onError);
  queue.on('error', onError);

  /** Parks the longest waits where every slot is taken and jobs wait. */
  async function makeRoom(): Promise<void> {
    if (inHand < slots) return;
    const { wait = 0, prioritized = 0 } = await queue.getJobCounts('wait', 'prioritized');
    waits.park(wait + prioritized, PARK_CHECK_MS);
  }

  return {
    name: 'queue api',
    async start() {
      await worker.waitUntilReady();
      worker.run().catch(onError);
      checking = setInterval(() => void makeRoom().catch(onError), PARK_CHECK_MS);
    },
    async stop() {
      clearInterval(checking);
      // It takes nothing more from here on; what is in hand goes back to the queue.
      const closed = worker.close();
      stopping.abort();
      waits.stop();
      await closed;
      await queue.close();
    },
  };
}

interface ProcessParts extends QueueApiOptions {
  readonly waits: ReturnType<typeof createWaits>;
  readonly stopping: AbortSignal;
}

/** Handles a job until it has ended, or is back in the queue. */
function createProcess(parts: ProcessParts) {
  const { waits, stopping, onError } = parts;
  const accept = createAccept(parts);
  const proofs = createProofs(parts.secret);

  async function handle(job: Job, read: Read, token: string | undefined): Promise<unknown> {
    await withoutOurParent(job);
    if (read.deferredFailure !== undefined) throw new UnrecoverableError(read.deferredFailure);
    const facts = factsOf(job);
    const accepted = (await proofs.accepted(facts, job.progress)) ?? (await acceptJob(job, facts, read));
    const ended = await waits.until(async (signal) => endOf(accepted, signal));
    if (ended === 'stopped') return backToQueue(job, token);
    if (ended === 'parked') return delayed(job, token, PARKED_MS);
    return returned(ended);
  }

  /** The progress is written before the token is removed: a process that dies in between finds one of the two. */
  async function acceptJob(job: Job, facts: JobFacts, { data }: Read): Promise<Accepted> {
    if (!data.ok) throw data.refusal;
    const asked = askedBy(data.value, facts, parts.customTypes);
    const accepted = await accept(asked);
    const progress = await proofs.prove(facts, accepted);
    await whileAvailable(async () => job.updateProgress(progress));
    if (asked.token !== undefined) {
      const { token: _token, ...rest } = data.value as Record<string, unknown>;
      await whileAvailable(async () => job.updateData(rest));
    }
    return accepted;
  }

  async function endOf({ ids, tenant }: Accepted, signal: AbortSignal): Promise<JobEnd> {
    const client = parts.clientOf(tenant);
    if (ids.id === undefined) return endOfRun(client, ids.request_id, signal);
    const ended = await client.result(ids.request_id, ids.id, { signal });
    if (ended === null) throw new ServiceUnavailable('a wait without a limit has ended');
    return directiveEnd(ids, ended);
  }

  /** A parent among the keys of the installation would let a producer write there with the rights of the service. */
  async function withoutOurParent(job: Job): Promise<void> {
    const { parentKey, parent } = job;
    const keys = [parentKey, (parent as { queueKey?: unknown } | undefined)?.queueKey];
    if (!keys.some((key) => isOwnKey(key, parts.prefix))) return;
    await whileAvailable(async () =>
      parts.connection.hdel(`${queuePrefix(parts.prefix)}:${QUEUE_NAME}:${job.id}`, 'parentKey', 'parent'),
    );
    const message = 'must not be among the keys of the service';
    throw new DirectiveRefused(
      problem('invalid_body', {
        detail: `opts.parent ${message}`,
        errors: [{ path: 'opts.parent', message }],
      }),
    );
  }

  return async (job: Job, read: Read, token: string | undefined): Promise<unknown> => {
    for (;;) {
      try {
        return await handle(job, read, token);
      } catch (error) {
        if (isOfBullMq(error)) throw error;
        if (error instanceof DirectiveRefused) {
          if (isTemporary(error.problem)) return later(job, token, error.problem);
          return returned(refusedEnd(error.problem));
        }
        if (!(error instanceof ServiceUnavailable) && !isRedisAway(error)) {
          onError(error as Error);
          return returned(refusedEnd(problem('internal_error')));
        }
        // Redis is away: nothing can be written, so the job is kept in hand.
        await pause(SHORTEST_PAUSE_MS, stopping);
        if (stopping.aborted) return backToQueue(job, token);
      }
    }
  };

  /** If it cannot be moved, its lock ends, and it is taken again. */
  async function backToQueue(job: Job, token: string | undefined): Promise<never> {
    await job.moveToWait(token).catch(onError);
    throw new WaitingError();
  }

  /** Its progress says why it is delayed. */
  async function later(job: Job, token: string | undefined, refusal: Problem): Promise<never> {
    const { code, detail = '' } = refusal;
    await job.updateProgress({ refused: code, detail }).catch(onError);
    return delayed(job, token, pauseOf(refusal, job));
  }

  async function delayed(job: Job, token: string | undefined, ms: number): Promise<never> {
    await job.moveToDelayed(Date.now() + ms, token).catch(onError);
    throw new DelayedError();
  }
}

/** The signals are followed, not kept: the view at the end has the result. */
async function endOfRun(
  client: ReturnType<ClientOf>,
  requestId: string,
  signal: AbortSignal,
): Promise<JobEnd> {
  for (;;) {
    const run = (await client.request(requestId))?.run;
    if (run === undefined || run === null)
      throw new DirectiveRefused(
        problem('not_found', { detail: `there is no run in a request "${requestId}"` }),
      );
    if (TERMINAL_RUN_STATUSES.has(run.status)) return runEnd({ request_id: requestId }, run);
    let hasEnded = false;
    for await (const { type } of client.signals(requestId, { signal })) {
      hasEnded = type === 'ai.request.completed' || type === 'ai.request.failed';
      if (hasEnded) break;
    }
    signal.throwIfAborted();
    if (!hasEnded) await pause(SHORTEST_PAUSE_MS, signal);
  }
}

/** The return value of the job, or the error that BullMQ records as a final failure. */
function returned(end: JobEnd): object {
  if (end.ok) return end.value;
  const failure = new UnrecoverableError(JSON.stringify(end.error));
  // BullMQ keeps it beside the message, which it would repeat.
  failure.stack = `UnrecoverableError: ${end.error.type}`;
  throw failure;
}

function isOfBullMq(error: unknown): boolean {
  return [UnrecoverableError, DelayedError, WaitingError].some((kind) => error instanceof kind);
}

/** Refusals for lack of capacity, not for the content. */
function isTemporary({ status }: Problem): boolean {
  return status === 429 || status === 503;
}

function pauseOf({ retry_after_ms: given }: Problem, { attemptsStarted }: Job): number {
  const grown = SHORTEST_PAUSE_MS * 2 ** Math.min(attemptsStarted, 10);
  const asked = typeof given === 'number' ? given : 0;
  return Math.min(Math.max(grown, asked), LONGEST_PAUSE_MS);
}

function factsOf({ id = '', timestamp, attemptsMade, priority, opts }: Job): JobFacts {
  return { id, timestamp, attemptsMade, priority, opts: isObject(opts) ? opts : {} };
}

function isOwnKey(key: unknown, prefix: string): boolean {
  if (typeof key !== 'string' || key.startsWith(`${queuePrefix(prefix)}:`)) return false;
  return key.startsWith(`${prefix}:`) || key.startsWith(`{${prefix}:`);
}
