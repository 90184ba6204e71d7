// The sweeper's check of a notice: notifies of an end, and checks open work again. Never forgets a notice before its
// deliveries are accepted.
import { tenantOf } from '../../contract/access/tenant.ts';
import { type LimitsOfTenant, NO_TENANT_LIMITS } from '../../contract/access/tenant-limits.ts';
import type { DueEntry, SweepIndex } from '../../store/index/sweep-index.ts';
import { NOTICE_ENTRY } from './notice.ts';
import type { Notified, Notify } from './notify.ts';
import { LONGEST_LOOK_MS, MISSING_GRACE_MS, SHORTEST_LOOK_MS } from './sweep-decision.ts';

export interface NoticeSweepParts {
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
