// The archive of a process: its place, what reads it, and the archiver over a store of Redis.
// Must never show a key of access in the log.
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { createArchiver, type ArchiveReports } from '../features/archive/archiver.ts';
import type { ArchiveStore } from '../features/archive/archive-store.ts';
import { createArchivedReads } from '../features/archive/archived-reads.ts';
import { archivedReader, type ReadArchived } from '../features/archive/archived-request.ts';
import { createBucketStore } from '../features/archive/bucket-store.ts';
import { createFolderStore } from '../features/archive/folder-store.ts';
import type { Config } from '../config/config.ts';
import { ServiceUnavailable } from '../contract/problem.ts';
import { closedMsOf } from '../contract/access/tenant-limits.ts';
import { requestField, scopedId } from '../contract/access/tenant.ts';
import { runView } from '../agents/core/run-view.ts';
import { viewOf } from '../agents/run-client.ts';
import { repeatable } from '../agents/run-repeats.ts';
import type { FindArchived } from '../directives/read/archived-reads.ts';
import { tracePageOf } from '../directives/read/views.ts';
import { createRunStore, NO_SIGNALS } from '../agents/turn/run-store.ts';
import type { Startable } from '../platform/lifecycle.ts';
import type { Meters } from '../platform/telemetry/metrics/meters.ts';
import { storeAt } from './store-place.ts';
import type { Store } from './store.ts';

/** null: nothing is archived. */
export function archiveStoreOf({
  archive,
  directory,
}: Pick<Config, 'archive' | 'directory'>): ArchiveStore | null {
  if (archive === undefined) return null;
  return storeAt(archive, directory, { folder: createFolderStore, bucket: createBucketStore });
}

const RETRY_AFTER_MS = 5_000;

/** Reads requests that Redis no longer holds; undefined: nothing is archived. */
export function archivedReadsOf(config: Config): FindArchived | undefined {
  const store = archiveStoreOf(config);
  if (store === null) return undefined;
  return createArchivedReads(readable(store), { pageOf: tracePageOf(config.telemetry.traceUrl) });
}

/** Reads what the archive has, or says that it is away. */
function readable(store: ArchiveStore): ReadArchived {
  const read = archivedReader(store);
  return async (scoped) => {
    try {
      return await read(scoped);
    } catch (error) {
      throw new ServiceUnavailable('The archive cannot be read', {
        retryAfterMs: RETRY_AFTER_MS,
        cause: error,
      });
    }
  };
}

/** Reads what the tenant of the caller has archived; null: nothing is archived. */
export function archiveOf(
  config: Config,
  tenant: () => string,
): ((requestId: string) => Promise<Readable | null>) | null {
  const store = archiveStoreOf(config);
  if (store === null) return null;
  const read = readable(store);
  return async (requestId) => read(scopedId(tenant(), requestId));
}

/** null: nothing is archived. */
export function archiverOn(
  { records, reports, limitsOf }: Store,
  config: Config,
  { logger, onError }: { logger: Logger; onError: (error: Error) => void },
): Startable | null {
  const store = archiveStoreOf(config);
  if (store === null || config.archive === undefined) return null;
  const { journal, payloads, archive: queue, runs, changes } = records;
  const { hold_ms: holdMs } = config.archive;
  const stored = createRunStore(runs);
  const archiver = createArchiver({
    queue,
    store,
    source: {
      journal,
      payloads,
      run: async (requestId) => {
        const run = await stored.read(requestId, NO_SIGNALS);
        return run && { view: viewOf(runView, run), start: repeatable(run.spec) };
      },
    },
    longestMs: (requestId) => closedMsOf(limitsOf, requestId, config.retention.closed_ms) + holdMs,
    onKept: changes.note,
    reports: archiveReports(store.place, { logger, meters: reports.meters, onError }),
  });
  return {
    ...archiver,
    async start() {
      // Not awaited: a service starts without its archive.
      store
        .check()
        .catch(({ message }: Error) =>
          logger.warn({ error: message }, `${store.place} cannot be used: ${AWAY}`),
        );
      await archiver.start();
    },
  };
}

const AWAY =
  'closed requests wait for it as long as `archive.hold_ms` says; `adjutant doctor` says how to fix it';

const LOG_EACH_MS = 60_000;

/** Logs failures, at most a line a minute, with their number. */
function archiveReports(
  place: string,
  { logger, meters, onError }: { logger: Logger; meters: Meters; onError: (error: Error) => void },
): ArchiveReports {
  // Alerts see a counter that was there before it grew.
  for (const outcome of ['failed', 'lost'] as const) meters.archived(outcome, 0);
  let nextAt = 0;
  let waiting = 0;
  return {
    archived: () => meters.archived('stored', 1),
    failed(requestId, { message }, until) {
      waiting += 1;
      meters.archived('failed', 1);
      if (performance.now() < nextAt) return;
      nextAt = performance.now() + LOG_EACH_MS;
      const fields = {
        ...requestField(requestId),
        requests: waiting,
        error: message,
        until: new Date(until).toISOString(),
      };
      logger.warn(
        fields,
        `closed requests cannot be written to ${place}: they are tried again, and kept until then`,
      );
      waiting = 0;
    },
    works() {
      nextAt = 0;
      waiting = 0;
      logger.info(`closed requests are written to ${place} again`);
    },
    lost(requestId) {
      meters.archived('lost', 1);
      logger.error(
        requestField(requestId),
        `a closed request is gone before it could be written to ${place}`,
      );
    },
    error: onError,
  };
}
