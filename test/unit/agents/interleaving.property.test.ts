/** The same run, whatever the order, repetition and delay of the answers.
 *  It must not compare anything that time itself decides. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/agents/turn/transition.ts';
import { call, calls, modelAnswer, Simulation, toolAnswer, TOOLS, tool } from './simulation.ts';

interface PlannedCall {
  name: string;
  payload: unknown;
  effects: unknown[];
}

interface Plan {
  rounds: PlannedCall[][];
  parallel: number;
  /** Sent while the first model call is under way. */
  inputs: string[];
}

const effect = fc.oneof(
  fc.string({ maxLength: 8 }).map((content) => ({ type: 'inject_context', params: { content } })),
  fc.record({ key: fc.constantFrom('a', 'b'), content: fc.string({ maxLength: 8 }) }).map((params) => ({
    type: 'context_anchor',
    params,
  })),
  fc.nat(3).map((keep_recent) => ({ type: 'prune_messages', params: { keep_recent } })),
  fc.constantFrom('capable', 'thinking').map((tier) => ({ type: 'tier_change', params: { tier } })),
  fc.constant({ type: 'notify_presenter', params: { key: 'k', data: {} } }),
  fc.constant({ type: 'phase_change', params: { phase: 'p' } }),
);

const plannedCall: fc.Arbitrary<PlannedCall> = fc.record({
  name: fc.constantFrom('math.add', 'fs.list', 'nope.nope', 'x.once'),
  payload: fc.oneof(fc.string({ maxLength: 300 }), fc.nat(), fc.constant(null)),
  effects: fc.array(effect, { maxLength: 2 }),
});

const plan: fc.Arbitrary<Plan> = fc.record({
  rounds: fc.array(fc.array(plannedCall, { minLength: 1, maxLength: 6 }), { maxLength: 4 }),
  parallel: fc.integer({ min: 1, max: 6 }),
  inputs: fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 2 }),
});

interface Answer {
  type: string;
  data: JsonObject;
}

const usageOf = (round: number) => ({ input_tokens: round, output_tokens: 2, total_tokens: round + 2 });

function answerTo(directive: JsonObject, { rounds }: Plan): Answer {
  const id = String(directive['id']);
  const [kind, round = '', place = ''] = id.split('-');
  if (kind === 'model') {
    const usage = usageOf(Number(round));
    const planned = rounds[Number(round) - 1];
    const turn = planned
      ? calls(...planned.map(({ name }, n) => call(name, { round, n }, `c${round}-${n}`)))
      : { text: `answer ${round}` };
    const data = modelAnswer(id, { ...turn, usage }, { metadata: { cost: 0.5 } });
    return { type: 'ai.llm.response', data };
  }
  const planned = rounds[Number(round) - 1]?.[Number(place)];
  if (directive['type'] !== 'emit_tool_error' && planned) {
    return { type: 'ai.tool.result', data: toolAnswer(id, planned.payload, planned.effects) };
  }
  const result = { ok: false, error: directive['error'], effects: [] };
  const data = { call_id: id, tool_name: directive['tool_name'], result, metadata: {} };
  return { type: 'ai.tool.result', data: data as JsonObject };
}

/** Plays the plan; `choose(n)` picks which of `n` pending answers comes next, `odd()` what comes in between. */
function play(
  story: Plan,
  choose: (n: number) => number,
  odd: () => 'nothing' | 'repeat' | 'wait',
): Simulation {
  const agent = { limits: { parallel_tool_calls: story.parallel, max_iterations: 10 } };
  const run = new Simulation({ agent, tools: [...TOOLS, tool('x.once')] });
  for (const [n, content] of story.inputs.entries()) run.input(content, `i${n}`);
  const came: Answer[] = [];
  let taken = 0;
  let flying: Answer[] = [];
  while (run.status === 'running') {
    const added = run.accepted.slice(taken).map((directive) => answerTo(directive as JsonObject, story));
    taken = run.accepted.length;
    flying = [...flying, ...added];
    const kind = odd();
    const repeated = came[choose(came.length || 1)];
    if (kind === 'wait') run.pass(1);
    if (kind === 'repeat' && repeated) run.signal(repeated.type, repeated.data);
    const [next] = flying.splice(choose(flying.length), 1);
    if (!next) throw new Error('nothing is on its way to a run that runs');
    came.push(next);
    run.signal(next.type, next.data);
  }
  return run;
}

function outcome(run: Simulation): unknown {
  const { messages, result, usage, cost, status, termination_reason, iterations, tool_calls } = run.view;
  const asked = run.accepted.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  const said = run.log.map((signal) => JSON.stringify(signal)).toSorted();
  return { messages, result, usage, cost, status, termination_reason, iterations, tool_calls, asked, said };
}

test('any interleaving, duplication or delay of results gives the same run as the orderly one', () => {
  fc.assert(
    fc.property(plan, fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.nat(3)), (story, picks, oddities) => {
      const orderly = play(
        story,
        () => 0,
        () => 'nothing',
      );
      const pick = (n: number): number => (picks.next().value ?? 0) % n;
      const kinds = ['nothing', 'nothing', 'repeat', 'wait'] as const;
      const disorderly = play(story, pick, () => kinds[oddities.next().value ?? 0] ?? 'nothing');
      expect(outcome(disorderly)).toEqual(outcome(orderly));
      expect(orderly.status).toBe('completed');
    }),
    { numRuns: 300 },
  );
});
