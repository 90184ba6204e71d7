// The worker and the engine of this process: work for them needs no way through Redis while they can take it at once.
// Must never keep work of its own: what is taken and dies with the process is enqueued by the sweeper.
import type { AcceptedAhead, ClaimAhead, EndWithTurn, RunNews } from '../journal/journal.ts';
import type { JobData } from './job.ts';
import { RUN_LANE, versionOf } from './run-wake.ts';

/** Who may execute an accepted directive, or take a run's turn, without a job. */
export interface LocalLanes {
  /** Whether it could take work of the lane now. */
  canTake(lane: string): boolean;
  /** false: it has to be enqueued. */
  take(lane: string, job: JobData): boolean;
  /** A place for what is about to be accepted; null: it is taken afterwards, or enqueued. Default: there is none. */
  reserve?(lane: string, job: JobData): LocalPlace | null;
}

/** Of one directive that is accepted and claimed in one. One of these is called; what is called after it has no effect. */
export interface LocalPlace {
  readonly claim: ClaimAhead;
  begin(accepted: AcceptedAhead): void;
  /** It was refused. */
  release(): void;
  /** No answer says whether it was claimed: it begins if so. Never rejects. false: the place is given back. */
  lookUp(): Promise<boolean>;
}

export interface LocalWorker extends LocalLanes {
  /** Attempts that have not been recorded yet. */
  inHand(): number;
}

export interface LocalEngine {
  /** Never rejects. */
  wake(requestId: string, version: number, news?: RunNews): Promise<void>;
  /** As in `JournalOptions`. Default: ends are written first. */
  takeEnd?: EndWithTurn;
  /** Whether `takeEnd` may do so for the run. Default: it does not. */
  holds?(requestId: string): boolean;
  /** Runs of which a turn is under way. */
  busyRuns(): number;
}

export interface LocalRoles {
  /** The lane of runs alone. */
  runs: LocalLanes;
  /** The lane of runs, and those of the worker. */
  all: LocalLanes;
  /** null: this process takes no turns. */
  engine(): LocalEngine | null;
  /** What is under way here, by name. */
  underWay(): Readonly<Record<string, number>>;
  /** From now on the roles are given what they can take. */
  join(roles: { worker?: LocalWorker | null; engine?: LocalEngine | null }): void;
}

export const NO_LOCAL_LANES: LocalLanes = { canTake: () => false, take: () => false };

export function createLocalRoles(): LocalRoles {
  let worker: LocalWorker | null = null;
  let engine: LocalEngine | null = null;
  const runs: LocalLanes = {
    canTake: (lane) => lane === RUN_LANE && engine !== null,
    take(lane, job) {
      if (lane !== RUN_LANE || engine === null) return false;
      void engine.wake(job.request_id, versionOf(job));
      return true;
    },
  };
  return {
    runs,
    all: {
      canTake: (lane) => runs.canTake(lane) || (worker?.canTake(lane) ?? false),
      take: (lane, job) => runs.take(lane, job) || (worker?.take(lane, job) ?? false),
      reserve: (lane, job) => worker?.reserve?.(lane, job) ?? null,
    },
    engine: () => engine,
    underWay: () => ({
      ...(worker ? { attempts: worker.inHand() } : {}),
      ...(engine ? { runs: engine.busyRuns() } : {}),
    }),
    join(roles) {
      worker = roles.worker ?? worker;
      engine = roles.engine ?? engine;
    },
  };
}
