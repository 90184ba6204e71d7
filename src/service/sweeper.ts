// The sweeper of a process, joined from its store. One for all stores: a process checks due entries once.
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { requestField } from '../contract/access/tenant.ts';
import { createRunNotifier } from '../agents/run-notifier.ts';
import type { Startable } from '../platform/lifecycle.ts';
import { createLaneWaits } from '../queue/lane-waits.ts';
import { createSweeper, type SweeperOptions } from '../directives/sweep/sweep.ts';
import { createRunWaitSayer, createWaitSayer } from '../directives/sweep/sweep-waits.ts';
import { createListedCheck } from '../store/search/listed-request.ts';
import type { Store } from './store.ts';

interface SweeperSettings extends Pick<SweeperOptions, 'onError' | 'notify'> {
  logger: Logger;
}

const TASK_GIVEN_UP =
  'the task of an ended directive was not cancelled in 10 minutes, and its server is not asked any more: it may still run there; stop it at the server of this lane';

export function sweeperOn(
  store: Store,
  config: Config,
  { logger, onError, notify }: SweeperSettings,
): Startable {
  const { journal, runs, index, later, dead, ends, activity } = store.records;
  const { lanes, gated, waker, wakeRun, canceller } = store.queue;
  const retentionMs = config.retention.closed_ms;
  const { spans, reports } = store;
  const waits = createLaneWaits({ catalog: store.catalog, lanes });
  const sayWait = createWaitSayer({ journal, waits, gated });
  const sayRunWait = createRunWaitSayer({ journal, runs, waits });
  const records = { journal, runs, index, later, dead, ends, activity };
  const { workers } = store.catalog;
  return createSweeper({
    ...records,
    workers,
    lanes,
    gated,
    waker,
    canceller,
    spans,
    reports,
    sayWait,
    waits,
    sayRunWait,
    cancelRun: createRunNotifier(runs, wakeRun, records.index).cancel,
    notify,
    callNotice: store.queue.callNotice,
    retentionMs,
    limitsOf: store.limitsOf,
    onError,
    changed: store.records.changes.note,
    isListed: createListedCheck(store.connection, store.keys, store.limitsOf),
    onTaskGivenUp: ({ requestId, id, lane }) =>
      logger.warn({ ...requestField(requestId), id, lane }, TASK_GIVEN_UP),
  });
}
