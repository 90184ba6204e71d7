// Joins the loop that fires schedules with the store of a process.
// Must never let a schedule fire with other rights than those of the key behind it.
import { onBehalfOf } from '../http/access/caller.ts';
import { createKeyBudget } from '../http/access/key-budget.ts';
import { createKeyRecords } from '../http/access/key-records.ts';
import { createOwnerCheck, ownerAsCaller } from '../http/access/schedule-rights.ts';
import { closedMsOf } from '../contract/access/tenant-limits.ts';
import { scopedId } from '../contract/access/tenant.ts';
import { createFiringLoop, type FiringLoop } from '../features/schedules/firing-loop.ts';
import { createScheduleStore } from '../features/schedules/schedule-store.ts';
import { type ClientOptions, createClient } from './client.ts';
import type { Store } from './store.ts';

/** How late the first schedule is that is due, milliseconds. */
export async function scheduleLagMs({ connection, keys, queue }: Store, now: number): Promise<number> {
  return createScheduleStore(connection, keys, queue.confirm).lagMs(now);
}

export function firingLoopOf(store: Store, options: ClientOptions): FiringLoop {
  const { connection, keys, queue, limitsOf, retentionMs, records, reports } = store;
  // The loop waits for no end, so nothing is listened to on this connection.
  const { clientOf, client } = createClient(store, connection, { ...options, isFiring: true });
  const access = createKeyRecords(connection, keys, queue.confirm);
  const spend = createKeyBudget(connection, keys, limitsOf);
  const loop = createFiringLoop({
    store: createScheduleStore(connection, keys, queue.confirm),
    clientOf,
    statusOf: async (requestId) => {
      const head = await records.journal.head(requestId);
      return head?.status ?? 'none';
    },
    forbidden: createOwnerCheck(access.find),
    onBehalf: async (owner, tenant, work) =>
      new Promise((resolve, reject) => {
        onBehalfOf(ownerAsCaller(owner, tenant), () => void work().then(resolve, reject));
      }),
    spend: async (owner, tenant, count) => spend(ownerAsCaller(owner, tenant), count),
    closedMs: (tenant) => closedMsOf(limitsOf, scopedId(tenant, ''), retentionMs),
    onFiring: reports.meters.scheduleFired,
    spans: store.spans,
    onError: options.onError ?? (() => {}),
  });
  return {
    ...loop,
    async stop(by) {
      await loop.stop(by);
      await client.close();
    },
  };
}
