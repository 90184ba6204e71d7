/** A run as it looks from outside, written by hand, with ways to disturb it.
 *  It must never need the service. */
import type { ToolExecution } from './executions.ts';
import type { Fault } from './history.ts';
import { asSent, digestOf, promptTokens } from './model-script.ts';
import { runEvidence, type RunSight } from './run-evidence.ts';
import { createRunHistory, type RunHistory } from './run-history.ts';
import { type PlannedRun, planRuns } from './run-plan.ts';
import { replay, undisturbedHistory } from './run-replay.ts';
import { runViolationsOf } from './run-rules.ts';
import type { WireDirective, WireMessage, WireRun, WireSignal } from './wire.ts';

export const AT = Date.parse('2026-01-01T00:00:00.000Z');
export const TRACE = '00-10000000000000000000000000000001-1000000000000001-01';

/** The first run of a kind that the seed plans; two rounds of one call, to keep the test readable. */
export function planned(kind: PlannedRun['kind'], fields: Partial<PlannedRun> = {}): PlannedRun {
  const found = Array.from({ length: 400 }, (_, number) => planRuns('unit', number)).find(
    ([run]) => run?.kind === kind,
  )?.[0];
  if (found === undefined) throw new Error(`no ${kind}`);
  const script = { ...found.script, rounds: 2, calls: 1, faults: {} };
  const given = [{ role: 'user', content: JSON.stringify(script) }];
  return { ...found, script, given, streams: false, ...fields };
}

export interface World {
  readonly history: RunHistory;
  messages: WireMessage[];
  signals: WireSignal[];
  directives: WireDirective[];
  calls: Map<string, ToolExecution[]>;
  asks: ToolExecution[];
  run: WireRun;
  others: Pick<WireRun, 'messages' | 'iterations'>[];
  faults: Fault[];
}

export function instant(sequence: number): string {
  return new Date(AT + sequence * 100).toISOString();
}

type Say = (type: string, causationid: string, data: object, attempt?: number) => WireSignal;

function speaker(signals: WireSignal[], subject: string): Say {
  return (type, causationid, data, attempt) => {
    const sequence = signals.length + 1;
    const identity = { specversion: '1.0', id: `s${sequence}`, source: '/x', subject, causationid };
    const when = { time: instant(sequence), traceparent: TRACE, sequence };
    const said = { ...identity, ...when, type, ...(attempt === undefined ? {} : { attempt }), data };
    signals.push(said as WireSignal);
    return said as WireSignal;
  };
}

/** An undisturbed run, as it looks from outside. */
export function undisturbed(plan = planned('steady')): World {
  const { requestId } = plan;
  const history = createRunHistory(plan);
  history.starts.push({ purpose: 'start', sentAt: AT, answeredAt: AT, status: 202, code: '' });
  const messages = undisturbedHistory(plan);
  const { shown, calls: told, answer } = replay(messages, plan.given.length);
  const signals: WireSignal[] = [];
  const directives: WireDirective[] = [];
  const calls = new Map<string, ToolExecution[]>();
  const asks: ToolExecution[] = [];
  const say = speaker(signals, requestId);
  const direct = (id: string, type: string): void => {
    const times = {
      accepted_at: instant(signals.length),
      ended_at: instant(99),
      deadline_at: instant(9_999),
    };
    const counts = { attempts: 1, failures: 0, redeliveries: 0 };
    directives.push({ id, type, status: 'succeeded', ...counts, ...times });
  };
  let cause = say('ai.request.started', requestId, {}).id;
  const total = { input_tokens: 0, output_tokens: 0 };
  for (const [round, conversation] of shown.entries()) {
    const model = `model-${round + 1}`;
    const tokens = {
      input_tokens: promptTokens(asSent(conversation).map(({ text }) => text)),
      output_tokens: (messages[conversation.length - 1]?.content ?? '').split(' ').length,
    };
    const call = told[round];
    if (call !== undefined) tokens.output_tokens += 1;
    total.input_tokens += tokens.input_tokens;
    total.output_tokens += tokens.output_tokens;
    direct(model, 'llm_generate');
    const ask = { execution: 1, tool: 'm1', key: digestOf(conversation), fault: null, pid: 1 };
    asks.push({ ...ask, label: `${requestId}/model`, at: AT });
    say('ai.usage', model, { call_id: model, ...tokens }, 1);
    const text = messages[conversation.length - 1]?.content;
    const toolCalls = messages[conversation.length - 1]?.tool_calls ?? [];
    const type = toolCalls.length > 0 ? 'tool_calls' : 'final_answer';
    const payload = { type, text, tool_calls: toolCalls, model: 'm1' };
    const metadata = { operation: 'generate_text' };
    cause = say('ai.llm.response', model, { call_id: model, result: { ok: true, payload }, metadata }, 1).id;
    if (call === undefined) continue;
    const tool = `tool-${round + 1}-0`;
    const { label } = call.call.arguments;
    direct(tool, 'tool_exec');
    say(
      'ai.tool.started',
      tool,
      { call_id: tool, tool_name: call.call.tool, arguments: call.call.arguments },
      1,
    );
    calls.set(label, [{ execution: 1, tool: 'x', key: 'k', label, pid: 1, at: AT }]);
    const { result } = JSON.parse(call.content) as { result: string };
    const answered = { ok: true, payload: result };
    const executed = { operation: 'tool_execute' };
    cause = say('ai.tool.result', tool, { call_id: tool, result: answered, metadata: executed }, 1).id;
  }
  say('ai.request.completed', cause, { result: answer });
  const run: WireRun = {
    status: 'completed',
    iterations: shown.length,
    tool_calls: told.length,
    usage: total,
    result: answer,
    error: null,
    termination_reason: 'final_answer',
    waiting_for: [],
    messages,
    started_at: instant(0),
    ended_at: instant(99),
  };
  return { history, messages, signals, directives, calls, asks, run, others: [], faults: [] };
}

/** What the rules report about it. */
export function sentences(world: World): string[] {
  const { history, messages, signals, directives, calls, asks, run, others, faults } = world;
  const sight: RunSight = {
    view: {
      request_id: history.requestId,
      status: 'closed',
      sequence: signals.length,
      open: 0,
      closed_at: instant(99),
      directives,
      run: { ...run, messages },
    },
    signals,
    calls,
    asks,
  };
  return runViolationsOf(runEvidence(history, sight, { faults, others }));
}

/** The log without the removed signals, with the added ones after `after`; renumbered. */
export function withLog(
  world: World,
  keep: (signal: WireSignal) => boolean,
  put: Partial<WireSignal>[] = [],
  after = Number.POSITIVE_INFINITY,
): void {
  const kept = world.signals.filter(keep);
  const at = Math.min(after, kept.length);
  const added = put.map((signal, index) => {
    const identity = { specversion: '1.0', id: `put-${index}`, subject: world.history.requestId };
    return { ...identity, time: instant(at), traceparent: TRACE, data: {}, ...signal } as WireSignal;
  });
  world.signals = kept
    .toSpliced(at, 0, ...added)
    .map((signal, index) => ({ ...signal, sequence: index + 1 }));
}
