// What the parts of a process stand on: configuration, modules, log, and what every role needs on one connection to Redis.
// Must never hold behaviour of its own.
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Engine } from '../engine/engine.ts';
import { createDeadLetterIndex } from '../journal/dead-letter-index.ts';
import { createJournal } from '../journal/journal.ts';
import { keySpace } from '../journal/keys.ts';
import { createPayloadStore } from '../journal/payload-store.ts';
import { createSerialLanes } from '../journal/serial-lanes.ts';
import { createEndRecorder } from '../journal/end-recorder.ts';
import { createSweepIndex } from '../journal/sweep-index.ts';
import { createToolCatalog } from '../catalog/tool-catalog.ts';
import type { Deadline, Startable } from '../lifecycle.ts';
import type { Modules } from '../extend/modules.ts';
import { createLanes } from '../queue/lanes.ts';
import { createRunWaker, wakeByJob } from '../queue/run-wake.ts';
import { createSweeper } from '../queue/sweep.ts';
import type { RedisOutage } from '../redis/outage.ts';
import { closeRedis, connectRedis, type ConnectionRole, type RedisConnection } from '../redis/connection.ts';

/** BullMQ's lock at most, and its check. Where workers live too short for the check, the sweeper rings when the lease ends. */
export const JOB_LOCK_MS = 5_000;
export const STALLED_CHECK_MS = 2_000;

export type Onward = (error: Error) => void;

export interface SharedParts {
  config: Config;
  modules: Modules;
  /** Takes turns in this process; null: it is rung for them. */
  engine: Engine | null;
  redisUrl: string;
  /** Sees every connection of the process. */
  outage: RedisOutage;
  logger: Logger;
  onError: Onward;
}

/** What every role needs on one connection to Redis. */
export function journalParts(connection: RedisConnection, { config, engine }: SharedParts) {
  const keys = keySpace(config.prefix);
  const lanes = createLanes(connection, config.prefix);
  const wakeRun = engine ? engine.wake : wakeByJob(createRunWaker(lanes));
  const retentionMs = config.retention.closed_ms;
  const requestBytes = config.limits.request_bytes;
  const journal = createJournal({ connection, keys, retentionMs, wakeRun, requestBytes });
  const index = createSweepIndex(connection, keys);
  const dead = createDeadLetterIndex(connection, keys);
  const ends = createEndRecorder(index, dead);
  const serial = createSerialLanes(connection, keys, journal);
  const payloads = createPayloadStore({ connection, keys, requestBytes });
  return {
    connection,
    keys,
    journal,
    index,
    dead,
    ends,
    serial,
    payloads,
    lanes,
    catalog: createToolCatalog(connection, keys),
  };
}

export type JournalParts = ReturnType<typeof journalParts>;

export function open(
  ground: Pick<SharedParts, 'redisUrl' | 'outage'>,
  role: ConnectionRole,
  name: string,
): { connection: RedisConnection; part: Startable } {
  const connection = connectRedis(ground.redisUrl, role);
  ground.outage.watch(connection);
  const stop = (by?: Deadline): Promise<void> => closeRedis(connection, by?.leftMs());
  const part = { name, start: () => Promise.resolve(), stop };
  return { connection, part };
}

export function sweeperPart(parts: JournalParts, ground: SharedParts): Startable {
  const retentionMs = ground.config.retention.closed_ms;
  return createSweeper({ ...parts, retentionMs, onError: ground.onError });
}
