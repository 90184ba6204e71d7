/** The rows that are measured in their own way: nothing of them is an operation that begins and ends beside plain BullMQ.
 *  It must leave what each measures to its file. */
import type { TestRedis } from '../test/support/redis.ts';
import { benchAgent } from './agent.ts';
import { benchBatches } from './batches.ts';
import { benchDepth } from './depth.ts';
import { benchEndpoint } from './endpoint.ts';
import type { Figures } from './goals.ts';
import { benchRest } from './rest.ts';
import { benchShards } from './shards.ts';
import { benchStreams, type StreamPlan } from './streams.ts';
import { benchTakeovers } from './takeover.ts';
import { benchWorkers } from './workers.ts';

/** What a row prints, and its figures for the goals. */
export interface Section {
  readonly text: string;
  readonly figures: Figures;
}

export interface SectionPlan {
  readonly fsync: 'always' | 'everysec';
  readonly operations: number;
  readonly rounds: number;
  readonly streams: StreamPlan;
  readonly takeovers: { readonly takeovers: number; readonly lifeMs: number };
  readonly depths: readonly number[];
}

type StartRedis = (fsync: 'always' | 'everysec') => Promise<TestRedis>;
type Measure = (plan: SectionPlan, startRedis: StartRedis) => Promise<Section>;

/** Streams at once for which the added time of the endpoint has a goal. */
const ENDPOINT_STREAMS = 50;

export const SECTIONS: Readonly<Record<string, Measure>> = {
  agent: onOne(async (redis, plan) => benchAgent(redis, plan)),
  workers: onOne(async (redis, plan) => benchWorkers(redis, plan)),
  batches: onOne(async (redis, { operations: directives, rounds }) =>
    benchBatches(redis, { directives, rounds }),
  ),
  streams: onOne(async (redis, { streams }) => benchStreams(redis, streams)),
  endpoint: onOne(async (redis, { streams }) =>
    benchEndpoint(redis, { ...streams, streams: Math.min(streams.streams, ENDPOINT_STREAMS) }),
  ),
  takeover: onOne(async (redis, { takeovers }) => ({
    text: await benchTakeovers(redis, takeovers),
    figures: {},
  })),
  rest: onOne(async (redis, { rounds }) => benchRest(redis, rounds)),
  depth: async (plan, startRedis) => benchDepth(async () => startRedis(plan.fsync), plan),
  shards: async (plan) => benchShards(plan),
};

function onOne(measure: (redis: TestRedis, plan: SectionPlan) => Promise<Section>): Measure {
  return async (plan, startRedis) => {
    await using redis = await startRedis(plan.fsync);
    return await measure(redis, plan);
  };
}

/** A part of the whole table, and how much of it is measured there. */
export interface Chapter {
  readonly section: string;
  readonly plan: SectionPlan;
}

/** Three masters share the operations: each is to have as many as Redis has in the other rows. */
const MASTERS_SHARE = 3;

/** In the order of the table. `operations` and `rounds`: those of the other rows, which are the most here. */
export function chapters(plan: SectionPlan): Chapter[] {
  const few = { ...plan, fsync: 'everysec', rounds: Math.min(plan.rounds, 3) } as const;
  return [
    { section: 'agent', plan: few },
    { section: 'workers', plan: few },
    { section: 'batches', plan: few },
    { section: 'streams', plan: { ...few, streams: { streams: 10, pieces: 40, paceMs: 50, rounds: 5 } } },
    { section: 'streams', plan: few },
    { section: 'depth', plan: few },
    { section: 'rest', plan: few },
    { section: 'shards', plan: { ...few, operations: plan.operations * MASTERS_SHARE } },
  ];
}
