// Builds the list of requests whenever it is incomplete: after an upgrade, after a restore, at a request. Every process
// checks; one builds. Never blocks Redis or this process, nor calls the list complete before each existing request has
// its row.
import type { ChangedRequests } from '../index/changed-requests.ts';
import type { KeySpace } from '../keys.ts';
import { isPassing } from '../../contract/tool/server-read.ts';
import { createLoop, pause, type Startable } from '../../platform/lifecycle.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { IndexMending } from './index-mending.ts';
import { type BuildPlace, HOLD_MS, type ListBuild } from './list-build.ts';
import { type FoundKeys, type KeyWalk, keyWalk, WALK_BEGIN } from './list-keys.ts';
import type { RowReader } from './row-reader.ts';
import type { SearchIndex } from './search-index.ts';

export interface ListBuilderParts {
  connection: RedisConnection;
  keys: KeySpace;
  /** Name of this process alone. */
  holder: string;
  build: ListBuild;
  index: Pick<SearchIndex, 'write'>;
  mending: IndexMending;
  changes: Pick<ChangedRequests, 'noteAll'>;
  read: RowReader;
  reports: ListBuilderReports;
}

export interface ListBuilderReports {
  /**
   * `found`: by the process that began it. Not called where no request exists, nor again for a failure at the same
   * place.
   */
  began(found: number): void;
  ended(counts: { found: number; failed: number; tookMs: number }): void;
  error(error: Error): void;
}

const LOOK_EVERY_MS = 1_000;
/** Requests that are read and written at once; Redis is blocked for some milliseconds. */
const WRITTEN_AT_ONCE = 50;
/** After each part it waits as long as that took, at most this long. */
const LONGEST_REST_MS = 1_000;
const LONGEST_STOP_MS = 1_000;

export type ListBuilder = Startable & { buildDue(): Promise<void> };

export function createListBuilder(parts: ListBuilderParts): ListBuilder {
  const { connection, keys, holder, build, index, mending, changes, read, reports } = parts;

  /** Builds a list that must be built and that no other process builds. */
  async function buildDue(): Promise<void> {
    const place = await build.take(holder);
    if (place === null) return;
    const kept = setInterval(() => void build.hold(holder).catch(() => {}), HOLD_MS / 3).unref();
    try {
      await buildFrom(place);
    } finally {
      clearInterval(kept);
      if (loop.stopping.aborted) await build.giveBack(holder);
    }
  }

  /** The last place at which this process has reported a build: a repeated failure there is reported once. */
  let saidAt = '';
  function sayBegan({ cursor, found }: BuildPlace): void {
    if (cursor !== saidAt) reports.began(found);
    saidAt = cursor;
  }

  /** false: another one builds. */
  async function clear(): Promise<boolean> {
    saidAt = '';
    return mending.clear({ keepCleared: () => build.keepCleared(holder), write: index.write });
  }

  async function buildFrom(taken: BuildPlace): Promise<void> {
    const startedAt = performance.now();
    let walk = await keyWalk(connection, keys);
    if (taken.cursor !== '') sayBegan(taken);
    else if (!(await clear())) return;
    let place: BuildPlace | null = isGood(taken, walk) ? taken : atBegin(walk);
    // What was cleared is not to be cleared again.
    if (!(await build.write(holder, place))) return;
    for (let known = taken.cursor !== ''; ;) {
      const step: Step = await stepFrom(place, walk);
      if (!known && step.found > 0) sayBegan({ ...place, found: 0 });
      known ||= step.found > 0;
      place = step;
      if (step.ended) {
        const { topology } = (walk = await keyWalk(connection, keys));
        if (topology === step.topology) {
          if ((await mending.mendBytes(holding(parts))) && (await build.end(holder, step)) && known)
            reports.ended({ ...step, tookMs: performance.now() - startedAt });
          return;
        }
        place = atBegin(walk);
      }
      if (!(await build.write(holder, place)) || loop.stopping.aborted) return;
    }
  }

  async function stepFrom(place: BuildPlace, walk: KeyWalk): Promise<Step> {
    const page = await walk.page(place.cursor);
    for (const { tenant, facet } of page.facets) await mending.mend(tenant, facet);
    const counts = await writePage(page);
    return {
      cursor: page.next ?? place.cursor,
      topology: place.topology,
      found: place.found + counts.found,
      failed: place.failed + counts.failed,
      ended: page.next === null,
    };
  }

  /** Requests that change meanwhile are noted by the process that changes them. */
  async function writePage({ requestIds }: FoundKeys): Promise<{ found: number; failed: number }> {
    const ids = requestIds.filter((id) => !isPassing(id));
    const counts = { found: ids.length, failed: 0 };
    for (let first = 0; first < ids.length; first += WRITTEN_AT_ONCE) {
      const startedAt = performance.now();
      const { rows, gone, failed } = await read(ids.slice(first, first + WRITTEN_AT_ONCE));
      await index.write(rows, gone);
      // The indexers try them again and again.
      await changes.noteAll(failed);
      counts.failed += failed.length;
      await pause(Math.min(performance.now() - startedAt, LONGEST_REST_MS), loop.stopping);
    }
    return counts;
  }

  const loop = createLoop({
    name: 'list of requests',
    work: buildDue,
    everyMs: LOOK_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError: reports.error,
  });
  return { ...loop, buildDue };
}

const holding =
  ({ build, holder }: Pick<ListBuilderParts, 'build' | 'holder'>) =>
  async (): Promise<boolean> =>
    build.hold(holder);

type Step = BuildPlace & { ended: boolean };

function isGood({ cursor, topology }: BuildPlace, walk: KeyWalk): boolean {
  return cursor !== '' && topology === walk.topology;
}

function atBegin({ topology }: KeyWalk): BuildPlace {
  return { cursor: WALK_BEGIN, topology, found: 0, failed: 0 };
}
