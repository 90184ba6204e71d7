// The gauges of a process that come from Redis: whether it answers and how fast, and what waits in the lanes.
// Must never ask Redis again while an answer is outstanding, nor more often than a figure can change for a reader.
import type { Survey } from '../queue/lane-survey.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { type GaugeSource, type Reading, remembered } from '../platform/telemetry/metrics/gauges.ts';
import { LABEL } from '../platform/telemetry/metrics/metric.ts';
import { settledWithin } from '../platform/lifecycle.ts';

const LANES_FRESH_MS = 5_000;
const PING_FRESH_MS = 1_000;
/** A Redis that takes longer is away, as far as an operator is concerned. */
const LONGEST_PING_MS = 1_000;

export function redisGauges(connection: RedisConnection): GaugeSource {
  let asked: Promise<unknown> | null = null;
  const read = async (): Promise<readonly Reading[]> => {
    // A Redis that is away keeps its one question.
    if (asked !== null) return [{ metric: 'redisUp', value: 0 }];
    const startedAt = performance.now();
    let tookMs: number | null = null;
    asked = connection
      .ping()
      .then(() => (tookMs = performance.now() - startedAt))
      .catch(() => {})
      .finally(() => (asked = null));
    await settledWithin(asked, LONGEST_PING_MS);
    if (tookMs === null) return [{ metric: 'redisUp', value: 0 }];
    return [
      { metric: 'redisUp', value: 1 },
      { metric: 'redisRoundTrip', value: tookMs / 1_000 },
    ];
  };
  return remembered(read, PING_FRESH_MS);
}

export function laneGauges(survey: () => Promise<Survey>): GaugeSource {
  return remembered(async () => readingsOf(await survey()), LANES_FRESH_MS);
}

/** How far the list of requests is behind, and whether it is complete. */
export function searchGauges(lagMs: () => Promise<number>, isComplete: () => Promise<boolean>): GaugeSource {
  const read = async (): Promise<readonly Reading[]> => {
    const [lag, complete] = await Promise.all([lagMs(), isComplete()]);
    return [
      { metric: 'searchLag', value: lag / 1_000 },
      { metric: 'searchIncomplete', value: complete ? 0 : 1 },
    ];
  };
  return remembered(read, PING_FRESH_MS);
}

/** How late the first of the due schedules is. */
export function scheduleGauges(lagMs: () => Promise<number>): GaugeSource {
  return remembered(async () => [{ metric: 'scheduleLag', value: (await lagMs()) / 1_000 }], PING_FRESH_MS);
}

/** Number of requests that wait for the archive. */
export function archiveGauges(size: () => Promise<number>): GaugeSource {
  return remembered(async () => [{ metric: 'archiveDue', value: await size() }], LANES_FRESH_MS);
}

function readingsOf({ lanes, open, deadLetters, runs }: Survey): Reading[] {
  return [
    { metric: 'open', value: open },
    { metric: 'deadLetters', value: deadLetters },
    { metric: 'approvals', value: runs.approval },
    ...Object.entries(runs).map(([status, value]): Reading => ({
      metric: 'runs',
      value,
      labels: { [LABEL.status]: status },
    })),
    ...lanes.flatMap(({ lane, oldestMs, ...counts }): Reading[] => [
      { metric: 'laneOldestAge', value: oldestMs / 1_000, labels: { [LABEL.lane]: lane } },
      ...Object.entries(counts).map(([state, value]): Reading => ({
        metric: 'laneDepth',
        value,
        labels: { [LABEL.lane]: lane, [LABEL.state]: state },
      })),
    ]),
  ];
}
