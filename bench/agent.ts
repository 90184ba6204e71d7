/** `npm run bench -- --only agent`: a streaming agent of five turns and three tools, beside the same loop with nothing kept.
 *  It must give all of them one provider, whose pace is the same for each answer. */
import type { TestRedis } from '../test/support/redis.ts';
import type { Measurement } from './measurement.ts';
import { medians, report } from './report.ts';
import { runScenario, type Scenario, stage, startApartWith, startUpWith, writeConfig } from './scenarios.ts';
import type { Section, SectionPlan } from './sections.ts';
import { startPacedProvider } from './streams.ts';
import { RUN_AGENT } from './transports/run.ts';

/** The pace of each answer, which takes 70 ms. */
const PACE = { pieces: 10, paceMs: 5, thinkingMs: 20 };
const SLOTS = 50;
/** After 50 runs, as few as one lane has slots, the compiler of V8 still adds 10 ms to each. */
const PLAN = { warmUp: 200, loads: [{ count: 20, concurrency: 1 }], counted: null };

const BARE = 'agent, bare loop';
const APART = 'agent, roles apart';
const UP = 'agent, one process';

export async function benchAgent(
  redis: TestRedis,
  { fsync, rounds }: Pick<SectionPlan, 'fsync' | 'rounds'>,
): Promise<Section> {
  const { provider, providerUrl } = await startPacedProvider(PACE);
  const rows: Measurement[] = [];
  try {
    const scenarios = await scenariosWith(providerUrl);
    for (let round = 1; round <= rounds; round += 1)
      for (const scenario of scenarios) {
        const { measurements } = await runScenario(scenario, redis, SLOTS, PLAN);
        rows.push(...measurements.map((row) => ({ ...row, scenario: scenario.name, baseline: BARE })));
      }
  } finally {
    await provider.stop();
  }
  return sectionOf(fsync, medians(rows));
}

async function scenariosWith(providerUrl: string): Promise<Scenario[]> {
  const bench = { type: 'openai-compatible', base_url: `${providerUrl}/v1`, lane: { concurrency: SLOTS } };
  const agents = { [RUN_AGENT]: { model: 'bench:model', tools: ['noop.*'] } };
  const config = await writeConfig(SLOTS, { providers: { bench }, agents });
  const baseline = BARE;
  return [
    {
      name: BARE,
      baseline,
      transport: 'bare-agent',
      start: async (redis) => Promise.resolve(stage(redis, {}, providerUrl)),
    },
    { name: APART, baseline, transport: 'agent', start: async (redis) => startApartWith(redis, config) },
    { name: UP, baseline, transport: 'agent', start: async (redis) => startUpWith(redis, config) },
  ];
}

function sectionOf(fsync: SectionPlan['fsync'], rows: readonly Measurement[]): Section {
  const added = (name: string): number => p50Of(rows, name) - p50Of(rows, BARE);
  const figures = { agent_adds_ms: added(APART), agent_up_adds_ms: added(UP) };
  const sentence = `Added to the bare loop: ${added(APART).toFixed(1)} ms, in one process ${added(UP).toFixed(1)} ms`;
  return { text: `${report(fsync, rows)}\n${sentence}`, figures };
}

const p50Of = (rows: readonly Measurement[], name: string): number =>
  rows.find(({ scenario }) => scenario === name)?.p50Ms ?? Number.NaN;
