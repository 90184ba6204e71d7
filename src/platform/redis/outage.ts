// Logs an outage of Redis in a few lines, for all connections and roles of a process together.
// Must never hide an error that an outage of Redis does not explain.
import type { Startable } from '../lifecycle.ts';
import { isRedisAway, whyAway } from './unavailable.ts';
import type { RedisConnection } from './connection.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createOutage, type OutageNews, secondsOf } from '../telemetry/outage.ts';

export interface RedisOutageOptions {
  logger: Logger;
  /** Work that waits for Redis right now, counted by name. */
  waiting: () => Readonly<Record<string, number>>;
  /** Milliseconds; any origin. */
  now?: () => number;
}

/** Logs from its start to its stop: a start that fails reports the reason itself. */
export interface RedisOutage extends Startable {
  watch(connection: RedisConnection): void;
  /** Whether the error is part of an outage, which is logged in its own lines. */
  explains(error: Error): boolean;
}

/** A connection that is back this soon was cut, not away. */
const BLIP_MS = 250;
const LOOK_MS = 1_000;
/**
 * A Redis that refuses commands, or lets them time out, closes no connection: it counts as back after this long without
 * another error. An error that arrives this long after an outage still belongs to it.
 */
const QUIET_MS = 10_000;
/** In an outage BullMQ loses job locks, and a killed Redis its jobs: the journal's claims decide, jobs are enqueued again. */
const CONSEQUENCES = /^(could not renew lock for job|Missing (lock|key) for job|Lock mismatch for job)/;

const BEGAN =
  ': submissions are refused with 503, results and runs wait; reconnecting. ' +
  'Check that it runs at REDIS_URL; where that is not set, `up` starts its private Redis again. The verb `doctor` has details';

function stillAway(reason: string): string {
  const why = whyAway({ message: reason });
  return why.replace(/^Redis is/, 'Redis is still').replace(/^Redis refuses/, 'Redis still refuses');
}

export function createRedisOutage(options: RedisOutageOptions): RedisOutage {
  const { logger, waiting, now = () => performance.now() } = options;
  const outage = createOutage(now);
  /** When each lost connection was lost. */
  const lost = new Map<RedisConnection, number>();
  let reason = '';
  /** The most work that waited at once in this outage. */
  let waited: Record<string, number> = {};
  let troubledAt = -Infinity;
  let endedAt = -Infinity;
  let looking: NodeJS.Timeout | undefined;

  function report(news: OutageNews | null): void {
    if (news === null || looking === undefined) return;
    if (news.kind === 'began') {
      waited = {};
      return logger.warn({ reason }, whyAway({ message: reason }) + BEGAN);
    }
    const { failures } = news;
    if (news.kind === 'lasts') {
      const fields = { reason, for_s: secondsOf(news.forMs), failures, waiting: waiting() };
      return logger.warn(fields, stillAway(reason));
    }
    const fields = { after_s: secondsOf(news.afterMs), failures, waited };
    logger.warn(fields, 'Redis is back: waiting work continues');
  }

  function look(): void {
    const isCut = [...lost.values()].some((lostAt) => now() - lostAt >= BLIP_MS);
    if (isCut && !outage.away) report(outage.failed());
    count();
    report(outage.look());
    if (outage.away && lost.size === 0 && now() - troubledAt >= QUIET_MS) end();
  }

  /** Counted before connections that are back early continue their work. */
  function count(): void {
    for (const [name, number] of Object.entries(waiting()))
      waited[name] = Math.max(waited[name] ?? 0, number);
  }

  function end(): void {
    endedAt = now();
    report(outage.works());
  }

  function back(connection: RedisConnection): void {
    count();
    if (lost.delete(connection) && lost.size === 0) end();
  }

  function watch(connection: RedisConnection): void {
    connection.on('error', (error: Error) => {
      reason = error.message;
      if (lost.has(connection)) look();
    });
    connection.on('reconnecting', () => {
      if (!lost.has(connection)) lost.set(connection, now());
      reason ||= 'the connection was closed';
    });
    connection.on('ready', () => back(connection));
    connection.on('end', () => lost.delete(connection));
  }

  function explains(error: Error): boolean {
    const isAftermath = !outage.away && now() - endedAt < QUIET_MS;
    if (!isRedisAway(error)) return CONSEQUENCES.test(error.message) && (outage.away || isAftermath);
    troubledAt = now();
    if (isAftermath) return true;
    if (!outage.away) reason = error.message;
    report(outage.failed());
    return true;
  }

  return {
    name: 'outage log',
    watch,
    explains,
    start: async () => {
      looking ??= setInterval(look, LOOK_MS).unref();
    },
    stop: async () => {
      clearInterval(looking);
      looking = undefined;
    },
  };
}
