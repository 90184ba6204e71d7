// The waiting work in all lanes, for metrics: a few commands a lane that each cost Redis a microsecond. Never opens a
// lane, nor counts as its use: readers would keep idle lanes alive.
import type { DeadLetterIndex } from '../store/index/dead-letter-index.ts';
import type { RunActivity, RunActivityIndex } from '../store/run/run-activity-index.ts';
import type { KeySpace } from '../store/keys.ts';
import type { SweepIndex } from '../store/index/sweep-index.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { lanePrefix } from './lane-registry.ts';

export interface LaneFigures {
  lane: string;
  waiting: number;
  active: number;
  delayed: number;
  /** In the gate of the lane, without a job. */
  gated: number;
  /** How long ago the job that is next was enqueued, milliseconds; 0: none waits. */
  oldestMs: number;
}

export interface Survey {
  lanes: LaneFigures[];
  /** Directives and runs under the sweeper's care. */
  open: number;
  deadLetters: number;
  runs: Record<RunActivity, number>;
}

export interface SurveyParts {
  connection: RedisConnection;
  keys: KeySpace;
  index: Pick<SweepIndex, 'size'>;
  dead: Pick<DeadLetterIndex, 'size'>;
  activity: Pick<RunActivityIndex, 'counts'>;
  now?: () => number;
}

/** More are not looked at: the names come from configurations, and this bounds a mistake in one. */
const MOST_LANES = 500;

export function createLaneSurvey({ connection, keys, index, dead, activity, now = Date.now }: SurveyParts) {
  async function figuresOf(lane: string): Promise<LaneFigures> {
    const key = (part: string): string => `${lanePrefix(keys.prefix, lane)}:${lane}:${part}`;
    const gate = keys.gate(lane);
    const [waiting, prioritized, active, delayed, next, inGate, letOut] = await Promise.all([
      connection.llen(key('wait')),
      connection.zcard(key('prioritized')),
      connection.llen(key('active')),
      connection.zcard(key('delayed')),
      connection.lindex(key('wait'), -1),
      connection.hlen(`${gate}items`),
      connection.zcard(`${gate}out`),
    ]);
    const enqueuedAt = next === null ? null : await connection.hget(key(next), 'timestamp');
    const oldestMs = enqueuedAt === null ? 0 : Math.max(0, now() - Number(enqueuedAt));
    const gated = Math.max(0, inGate - letOut);
    return { lane, waiting: waiting + prioritized, active, delayed, gated, oldestMs };
  }

  /** The lanes that were used within an hour. */
  return async (): Promise<Survey> => {
    const [names, open, deadLetters, runs] = await Promise.all([
      connection.zrange(keys.lanes, '0', String(MOST_LANES - 1)),
      index.size(),
      dead.size(),
      activity.counts(),
    ]);
    return { lanes: await Promise.all(names.toSorted().map(figuresOf)), open, deadLetters, runs };
  };
}
