/** What is driven and judged together: a request with its directives, or the runs of one conversation.
 *  It must never judge by itself: the rules do. */
import { violationsOf } from './checker.ts';
import { drive } from './driver.ts';
import { gather, readRequest } from './evidence.ts';
import type { Fault } from './history.ts';
import type { Plan } from './plan.ts';
import { driveRun } from './run-driver.ts';
import { lookAtRun, runEvidence, type RunSight } from './run-evidence.ts';
import type { RunHistory } from './run-history.ts';
import type { PlannedRun } from './run-plan.ts';
import { runViolationsOf } from './run-rules.ts';
import { runStoryOf } from './run-story.ts';
import { storyOf } from './story.ts';
import type { System } from './system.ts';
import type { Tally } from './tally.ts';
import type { WireRequest, WireSignal } from './wire.ts';

/** The environment of a scene. */
export interface Stage {
  readonly system: System;
  readonly faults: readonly Fault[];
  readonly tally: Tally;
}

/** A request as it was found at the end. */
export interface Verdict {
  readonly requestId: string;
  /** null: the service has no such request any more. */
  readonly view: WireRequest | null;
  readonly signals: readonly WireSignal[];
  readonly violations: readonly string[];
  /** Ids of its directives that asked for a webhook. */
  readonly notifying: readonly string[];
  story(): string[];
}

export interface Scene {
  readonly name: string;
  /** Approximate number of directives. */
  readonly size: number;
  /** Resolves when everything planned was sent and answered. */
  play(): Promise<void>;
  /** Also without any answer. */
  isOpen(): Promise<boolean>;
  /** Ends the live readers. */
  leave(): void;
  /** null: the service does not answer. */
  judge(): Promise<Verdict[] | null>;
}

export function directiveScene(plan: Plan, { system, faults, tally }: Stage): Scene {
  const { apiUrls: apis, folder } = system;
  let driven: ReturnType<typeof drive> | null = null;
  return {
    name: plan.requestId,
    size: plan.acts.reduce((sum, { directives }) => sum + directives.length, 0),
    async play() {
      driven = drive(plan, apis);
      await driven.done;
    },
    isOpen: async () => isOpen(apis, plan.requestId),
    leave: () => driven?.leave(),
    async judge() {
      const evidence = driven && (await gather(driven.history, { apis, folder, faults }));
      if (evidence === null) return null;
      tally.add(evidence);
      const { requestId } = plan;
      const { view, signals, planned } = evidence;
      const story = (): string[] => storyOf(evidence);
      const notifying = [...planned.values()].flatMap(({ id, notifies }) => (notifies ? [id] : []));
      return [{ requestId, view, signals, violations: violationsOf(evidence), notifying, story }];
    },
  };
}

export function runScene(plans: readonly PlannedRun[], stage: Stage): Scene {
  const { apiUrls: apis, folder } = stage.system;
  let driven: ReturnType<typeof driveRun>[] = [];
  /** One run of a conversation may be deleted before the other has ended. */
  const firstSights = new Map<string, RunSight>();

  async function isOpenRun({ history }: ReturnType<typeof driveRun>): Promise<boolean> {
    const { requestId } = history;
    if (await isOpen(apis, requestId)) return true;
    if (firstSights.has(requestId)) return false;
    const sight = await lookAtRun(history, { apis, folder });
    if (sight?.view?.status === 'closed') firstSights.set(requestId, sight);
    return false;
  }

  return {
    name: plans[0]?.requestId ?? '',
    size: plans.reduce((sum, { script }) => sum + script.rounds * (script.calls + 1) + 1, 0),
    async play() {
      driven = plans.map((planned) => driveRun(planned, apis));
      await Promise.all(driven.map(async ({ done }) => done));
    },
    async isOpen() {
      return (await Promise.all(driven.map(isOpenRun))).some(Boolean);
    },
    leave: () => driven.forEach(({ leave }) => leave()),
    judge: async () =>
      judgeRuns(
        driven.map(({ history }) => history),
        stage,
        firstSights,
      ),
  };
}

async function isOpen(apis: readonly string[], requestId: string): Promise<boolean> {
  const known = await readRequest(apis, requestId);
  return known === null || known.view?.status === 'open';
}

async function judgeRuns(
  histories: readonly RunHistory[],
  { system, faults, tally }: Stage,
  firstSights: ReadonlyMap<string, RunSight>,
): Promise<Verdict[] | null> {
  const place = { apis: system.apiUrls, folder: system.folder };
  const sights = await Promise.all(
    histories.map(async (history) => {
      const sight = await lookAtRun(history, place);
      return sight?.view === null ? (firstSights.get(history.requestId) ?? sight) : sight;
    }),
  );
  if (sights.includes(null)) return null;
  return histories.map((history, index) => {
    const others = (sights as RunSight[]).toSpliced(index, 1).flatMap(({ view }) => view?.run ?? []);
    const evidence = runEvidence(history, sights[index] as RunSight, { faults, others });
    tally.addRun(evidence);
    const story = (): string[] => runStoryOf(evidence);
    const { view, signals } = evidence;
    const { requestId } = history;
    return { requestId, view, signals, violations: runViolationsOf(evidence), notifying: [], story };
  });
}
