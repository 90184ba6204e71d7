// The sweeper: checks directives that should have begun or ended, and enqueues them again or ends them.
// Must never rely on being the only one, nor on surviving: every step is safe to repeat, and entries it took come due again.
import { type LimitsOfTenant, NO_TENANT_LIMITS } from '../../contract/access/tenant-limits.ts';
import { asError, createLoop } from '../../platform/lifecycle.ts';
import type { DeadLetterIndex } from '../../store/index/dead-letter-index.ts';
import type { CrowdRule, DueEntry, SweepIndex } from '../../store/index/sweep-index.ts';
import { createLaterRelease, type LaterReleaseOptions } from './later-release.ts';
import { RUN_ENTRY } from '../../queue/run-wake.ts';
import { LONGEST_LOOK_MS, MISSING_GRACE_MS, SHORTEST_LOOK_MS } from './sweep-decision.ts';
import { createDirectiveSweep, type DirectiveSweepParts } from './sweep-directives.ts';
import { NOTICE_ENTRY } from './notice.ts';
import { SPAN_ENTRY } from '../read/span-note.ts';
import { createSpanSweep, type SpanSweepParts } from './sweep-spans.ts';
import { createRunSweep, type RunSweepParts } from './sweep-runs.ts';
import { MOST_SAID } from './sweep-waits.ts';
import type { RunActivityIndex } from '../../store/run/run-activity-index.ts';
import type { RunJournal } from '../../store/run/run-journal.ts';
import { tenantOf } from '../../contract/access/tenant.ts';
import type { Notified, Notify } from './notify.ts';

export interface SweeperOptions
  extends
    DirectiveSweepParts,
    RunSweepParts,
    Pick<SpanSweepParts, 'workers'>,
    Pick<NoticeSweepParts, 'notify'> {
  index: SweepIndex;
  later: DirectiveSweepParts['later'] & LaterReleaseOptions['later'];
  dead: DeadLetterIndex;
  /** How long a closed request stays readable, milliseconds. */
  retentionMs: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
  /** Poll interval of the index, milliseconds; the end of a lease is noticed within it. Default: 500. */
  intervalMs?: number;
  onError: (error: Error) => void;
}

const BATCH = 200;
/** Rule by which Redis puts off the entries of a crowded lane itself, two milliseconds at a time: with 100,000 waiting, each is due once a minute. */
const CROWD: CrowdRule = {
  mostSeen: 120,
  mostGiven: MOST_SAID,
  shortestLookMs: SHORTEST_LOOK_MS,
  longestLookMs: LONGEST_LOOK_MS,
};
/** Rule for further due entries of the same poll: one of each crowd is checked, since some of it have been. */
const REST_OF_CROWD: CrowdRule = { ...CROWD, alreadyGiven: MOST_SAID - 1 };
/** How long a stop waits for the current check, milliseconds: an unfinished step is repeated by another sweeper. */
const LONGEST_STOP_MS = 1_000;
/** How often what nothing is due of is looked through: dead letters of forgotten requests, idle lanes, counted runs. Milliseconds. */
const REST_LOOK_MS = 10_000;
const DEFAULT_INTERVAL_MS = 500;

export function createSweeper(options: SweeperOptions) {
  const { index, lanes, dead, onError, limitsOf = NO_TENANT_LIMITS } = options;
  const sweepRun = createRunSweep(options);
  const sweepDirective = createDirectiveSweep(options);
  const sweepSpans = createSpanSweep(options);
  const sweepNotices = createNoticeSweep(options);
  const lookAtCounted = createCountedRuns(options);
  let restLookAt = 0;

  /** Takes the due entries that no other sweeper has taken, and handles them; returns whether more may be due. */
  async function sweep(crowd = CROWD): Promise<boolean> {
    const { now, entries, more } = await index.take(BATCH, crowd);
    await Promise.all(
      entries.map((entry) => lookAt(entry, now).catch((error: unknown) => putOff(entry, now, error))),
    );
    return more;
  }

  async function lookAt(entry: DueEntry, now: number, begins = false): Promise<void> {
    if (entry.id === RUN_ENTRY) await sweepRun(entry, now);
    else if (entry.id.startsWith(SPAN_ENTRY)) await sweepSpans(entry, now);
    else if (entry.id.startsWith(NOTICE_ENTRY)) await sweepNotices(entry, now);
    else await sweepDirective(entry, now, begins);
  }

  /** An entry whose check failed is checked again later; the others of its batch are not affected. */
  async function putOff(entry: DueEntry, now: number, error: unknown): Promise<void> {
    onError(asError(error));
    await index.lookAgain(entry, now + SHORTEST_LOOK_MS, entry.missedBefore);
  }

  async function sweepAll(): Promise<void> {
    for (let crowd = CROWD; (await sweep(crowd)) && !loop.stopping.aborted;) crowd = REST_OF_CROWD;
    if (performance.now() < restLookAt) return;
    restLookAt = performance.now() + REST_LOOK_MS;
    await dead.expire((tenant) => limitsOf(tenant).closedMs ?? options.retentionMs);
    await lanes.forgetIdle();
    // @guard counted-runs
    await lookAtCounted();
  }

  const intervalMs = options.intervalMs ?? DEFAULT_INTERVAL_MS;
  const release = createLaterRelease({
    later: options.later,
    begin: (entry, now) => lookAt(entry, now, true),
    intervalMs,
    onError,
  });
  const loop = createLoop({
    name: 'sweeper',
    // @guard sweeper
    work: sweepAll,
    everyMs: intervalMs,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return {
    ...loop,
    sweep,
    release: release.release,
    async start(): Promise<void> {
      release.start();
      await loop.start();
    },
    async stop(): Promise<void> {
      await Promise.all([loop.stop(), release.stop()]);
      index.flush();
    },
  };
}

interface CountedRunsParts {
  runs: Pick<RunJournal, 'head'>;
  /** Default: runs are not counted. */
  activity?: Pick<RunActivityIndex, 'note' | 'listed'>;
}

/** Checks some of the listed runs, others each time. */
export function createCountedRuns({ runs, activity }: CountedRunsParts): () => Promise<void> {
  return async () => {
    const listed = (await activity?.listed()) ?? [];
    const heads = await Promise.all(listed.map((requestId) => runs.head(requestId)));
    for (const [at, requestId] of listed.entries())
      // @guard counted-live
      if (heads[at]?.ended !== false) activity?.note(requestId, null);
  };
}

interface NoticeSweepParts {
  index: Pick<SweepIndex, 'forget' | 'lookAgain'>;
  /** Default: this process leaves notices to others. */
  notify?: Notify | undefined;
  /** How long what has ended stays readable, milliseconds. */
  retentionMs: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant | undefined;
}

/** Longest time between two checks of the notice of a delayed directive: a canceller may die before it passes the end on. */
const LONGEST_WAIT_MS = 3_600_000;

export function createNoticeSweep(parts: NoticeSweepParts) {
  const { index, notify, retentionMs, limitsOf = NO_TENANT_LIMITS } = parts;

  /** Later than that an end might be forgotten before it is seen. */
  const latest = (requestId: string, now: number): number =>
    now + Math.max(1_000, (limitsOf(tenantOf(requestId)).closedMs ?? retentionMs) / 2);

  return async (entry: DueEntry, now: number): Promise<void> => {
    if (notify === undefined) return index.lookAgain(entry, now + SHORTEST_LOOK_MS, entry.missedBefore);
    const seen = await notify(entry.requestId, entry.id.slice(NOTICE_ENTRY.length));
    if (seen.kind === 'notified') return index.forget(entry);
    if (seen.kind === 'asking')
      return index.lookAgain(entry, Math.min(seen.nextAt, latest(entry.requestId, now)));
    if (seen.kind === 'open' || seen.kind === 'full')
      return index.lookAgain(entry, Math.min(nextLook(seen, now), latest(entry.requestId, now)));
    if (entry.missedBefore) return index.forget(entry);
    return index.lookAgain(entry, now + MISSING_GRACE_MS, true);
  };
}

/** At growing intervals; of what begins later not before that, unless it is far away. */
function nextLook(seen: Extract<Notified, { kind: 'open' | 'full' }>, now: number): number {
  const { since } = seen;
  if (seen.kind === 'full') return now + Math.min(Math.max(now - since, LONGEST_LOOK_MS), LONGEST_WAIT_MS);
  const { beginsAt } = seen;
  if (beginsAt !== null && beginsAt > now)
    return Math.min(beginsAt + SHORTEST_LOOK_MS, now + LONGEST_WAIT_MS);
  return now + Math.min(Math.max(now - since, SHORTEST_LOOK_MS), LONGEST_LOOK_MS);
}
