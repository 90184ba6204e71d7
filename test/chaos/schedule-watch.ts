/** Makes the schedules of a run, and looks at what becomes of them until their last request is closed.
 *  It must never judge: the rules do. */
import { setTimeout as delay } from 'node:timers/promises';
import { executionsOf } from './executions.ts';
import { type PlannedSchedule, planSchedules } from './schedule-plan.ts';
import { type FiredRequest, type ScheduleEvidence, scheduleViolationsOf } from './schedule-rules.ts';
import type { System } from './system.ts';
import { exchange, read } from './transport.ts';
import type { WireFiring, WireRequest, WireSchedule } from './wire.ts';

export interface ScheduleWatch {
  /** Sentences, one for each promise that was broken, when all have ended. */
  judge(): Promise<string[]>;
  /** How many instants had which outcome. */
  line(): string;
}

/** More often than a hundred firings, of which the service keeps the last ones, and than a closed request is forgotten. */
const LOOK_MS = 4_000;
/** From the making to the first instant. */
const LEAD_MS = 4_000;
/** After their end: the longest call of an instant, and its redeliveries. */
const PATIENCE_MS = 90_000;

export function watchSchedules(seed: string, { apiUrls, folder }: System, minutes: number): ScheduleWatch {
  const from = Date.now() + LEAD_MS;
  const until = from + minutes * 60_000 - LEAD_MS;
  const all = planSchedules(seed, from, until).map((planned) => watchOne(planned, { apis: apiUrls, folder }));
  return {
    judge: async () => (await Promise.all(all.map(async ({ judge }) => judge()))).flat(),
    line: () => {
      const firings = all.flatMap(({ firings: of }) => [...of.values()]);
      const groups = Object.entries(Object.groupBy(firings, ({ outcome }) => outcome));
      return `schedules: ${groups.map(([outcome, some = []]) => `${outcome} ${some.length}`).join(', ')}`;
    },
  };
}

interface Place {
  readonly apis: readonly string[];
  readonly folder: string;
}

function watchOne(planned: PlannedSchedule, { apis, folder }: Place) {
  const firings = new Map<string, WireFiring>();
  const requests = new Map<string, FiredRequest>();
  let last: WireSchedule | null = null;

  async function look(): Promise<void> {
    const answer = await read<WireSchedule>(apis, `/v1/schedules/${planned.id}`);
    if (answer?.status !== 200) return;
    last = answer.body;
    for (const firing of last.history)
      firings.set(`${firing.scheduled_at} ${firing.outcome} ${firing.at}`, firing);
    const unseen = [...firings.values()].flatMap(({ request_id: id }) =>
      id === null || requests.has(id) ? [] : [id],
    );
    for (const id of unseen) {
      const closed = await closedRequest(apis, id);
      if (closed !== null) requests.set(id, closed);
    }
  }

  const isOver = (): boolean =>
    last?.status === 'ended' &&
    [...firings.values()].every(({ request_id: id }) => id === null || requests.has(id));

  async function watch(): Promise<void> {
    await make(planned, apis);
    const giveUpAt = planned.endsAt + PATIENCE_MS;
    for (; !isOver() && Date.now() < giveUpAt; await delay(LOOK_MS)) await look();
  }

  const watching = watch();
  return {
    firings,
    async judge(): Promise<string[]> {
      await watching;
      if (last === null) return [`${planned.id}: the service does not answer about it`];
      const { status, counts, created_at } = last as WireSchedule;
      const evidence: ScheduleEvidence = {
        planned,
        madeAt: Date.parse(created_at),
        status,
        counts,
        firings: [...firings.values()],
        requests,
        executions: executionsOf(folder, planned.label),
      };
      return scheduleViolationsOf(evidence);
    },
  };
}

/** The same body until it is there: an answer that was lost may have been one. */
async function make({ body, endsAt }: PlannedSchedule, apis: readonly string[]): Promise<void> {
  for (let turn = 0; Date.now() < endsAt; turn += 1) {
    const { status } = await exchange(apis[turn % apis.length] ?? '', 'POST', '/v1/schedules', { body });
    if (status === 200 || status === 201) return;
    await delay(200);
  }
}

/** null: it is open, or nobody answers. */
export async function closedRequest(apis: readonly string[], id: string): Promise<FiredRequest | null> {
  const answer = await read<WireRequest>(apis, `/v1/requests/${id}`);
  const view = answer?.status === 200 ? answer.body : null;
  const [directive] = view?.directives ?? [];
  const closedAt = view?.closed_at ?? null;
  if (closedAt === null || view?.status !== 'closed' || directive === undefined) return null;
  return {
    acceptedAt: Date.parse(directive.accepted_at),
    closedAt: Date.parse(closedAt),
    succeeded: directive.status === 'succeeded',
  };
}
