// Says that this process is there, what it serves and how busy it is; reads whether it shall take no more work.
// Must never fail a start or a stop, nor keep the process alive.
import { hostname } from 'node:os';
import { BEAT_MS, type WorkerEntry, type Workers } from '../store/catalog/workers.ts';
import { asError, settledWithin, type Startable } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import { PROCESS_CODE } from '../platform/telemetry/identifier.ts';
import { roleNames, type Roles } from './roles/roles.ts';
import { version } from '../version.ts';

/** A role that takes jobs. */
export interface LaneServer {
  lanes(): NonNullable<WorkerEntry['lanes']>;
  /** Takes nothing more, or works again; what was taken goes on. */
  setDraining(draining: boolean): void;
}

export interface PresenceOptions {
  workers: Pick<Workers, 'beat' | 'leave'>;
  processId: string;
  roles: Roles;
  servers: readonly LaneServer[];
  logger: Logger;
  onError: (error: Error) => void;
}

/** How long a start or a stop waits until the others know. */
const LEAVE_MS = 500;
const LONGEST_NAME = 256;

export interface Presence {
  /** Starts last, when all roles work, and stops first: from then on the process is known as stopping. */
  present: Startable;
  /** Stops after all roles and the last spans: until then the process is listed as live. */
  leaving: Startable;
}

export function createPresence(options: PresenceOptions): Presence {
  const { workers, processId, servers, logger, onError } = options;
  const startedAt = Date.now();
  const roles = roleNames(options.roles);
  let draining = false;
  let stopping = false;
  let timer: NodeJS.Timeout | undefined;
  let beating: Promise<void> | undefined;

  const entry = (): WorkerEntry => ({
    roles,
    state: stopping ? 'stopping' : draining ? 'draining' : 'working',
    host: hostname().slice(0, LONGEST_NAME),
    pid: process.pid,
    version,
    started_at: startedAt,
    lanes: servers.flatMap((server) => server.lanes()),
  });

  async function beat(): Promise<void> {
    const drain = await workers.beat(processId, entry(), PROCESS_CODE);
    if (drain === draining || stopping) return;
    draining = drain;
    for (const server of servers) server.setDraining(drain);
    logger.info({ worker: processId }, drain ? 'takes no more work, as asked' : 'works again, as asked');
    await workers.beat(processId, entry());
  }

  /** One at a time: an outage of Redis must not pile them up. */
  function beatOnce(): Promise<void> {
    beating ??= beat()
      .catch((error: unknown) => onError(asError(error)))
      .finally(() => (beating = undefined));
    return beating;
  }

  const present: Startable = {
    name: 'presence',
    async start() {
      timer = setInterval(() => void beatOnce(), BEAT_MS).unref();
      await settledWithin(beatOnce(), LEAVE_MS);
    },
    async stop() {
      if (timer === undefined || stopping) return;
      stopping = true;
      await settledWithin(Promise.resolve(beating).then(beatOnce), LEAVE_MS);
    },
  };
  const leaving: Startable = {
    name: 'leaving',
    start: () => Promise.resolve(),
    async stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      const left = Promise.resolve(beating).then(() => workers.leave(processId));
      await settledWithin(left, LEAVE_MS);
    },
  };
  return { present, leaving };
}
