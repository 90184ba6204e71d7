/** Everything visible of one run from outside, with what each of its directives had to be.
 *  It must never look into the service's own records. */
import type { Evidence } from './evidence.ts';
import { readSnapshot } from './evidence.ts';
import { executionsOf, type ToolExecution } from './executions.ts';
import type { CancelRecord, Fault } from './history.ts';
import { CHAINS, usageOf } from './model-plan.ts';
import { answerTo, digestOf, type Said } from './model-script.ts';
import type { PlannedDirective } from './plan.ts';
import type { RunHistory } from './run-history.ts';
import { BRITTLE_RETRIES, CALL_RETRIES, possibleCalls, type PlannedRun } from './run-plan.ts';
import { replay, type Replay } from './run-replay.ts';
import type { WireDirective, WireMessage, WireRequest, WireRun, WireSignal } from './wire.ts';

export interface RunEvidence extends Evidence {
  readonly history: RunHistory;
  readonly told: Replay;
  /** Messages of the history that the run did not write. */
  readonly before: readonly WireMessage[];
  /** Every execution of a tool that the model may ever call, by label. */
  readonly calls: ReadonlyMap<string, readonly ToolExecution[]>;
  readonly asks: readonly ToolExecution[];
  /** The other runs of its conversation. */
  readonly others: readonly Pick<WireRun, 'messages' | 'iterations'>[];
}

/** What was read of a run. */
export interface RunSight {
  readonly view: WireRequest | null;
  readonly signals: readonly WireSignal[];
  readonly calls: ReadonlyMap<string, readonly ToolExecution[]>;
  readonly asks: readonly ToolExecution[];
}

interface Place {
  readonly apis: readonly string[];
  readonly folder: string;
}

/** null: the service did not answer. */
export async function lookAtRun(
  { planned, requestId }: RunHistory,
  { apis, folder }: Place,
): Promise<RunSight | null> {
  const known = await readSnapshot(apis, requestId);
  if (known === null) return null;
  const labels = [...possibleCalls(planned).keys()];
  return {
    ...known,
    calls: new Map(labels.map((label) => [label, executionsOf(folder, label)])),
    asks: executionsOf(folder, `${planned.script.label}/model`),
  };
}

export function runEvidence(
  history: RunHistory,
  { view, signals, calls, asks }: RunSight,
  { faults, others }: { faults: readonly Fault[]; others: RunEvidence['others'] },
): RunEvidence {
  const { planned: run } = history;
  const messages = view?.run?.messages ?? [];
  const asked = messages.findIndex(({ content }) => content === run.given.at(-1)?.content);
  const before = messages.slice(0, Math.max(0, asked + 1 - run.given.length));
  const told = replay(messages, before.length + run.given.length);
  const directives = view?.directives ?? [];
  const models = directives.filter(({ type }) => type.startsWith('llm_'));
  const planned = new Map<string, PlannedDirective>();
  const executions = new Map<string, readonly ToolExecution[]>();
  for (const directive of directives) {
    const place = models.indexOf(directive);
    if (directive.type === 'tool_exec') planToolCall(directive, { signals, planned });
    else if (place >= 0) planned.set(directive.id, modelCall(run, directive, told.shown[place] ?? []));
    const of = planned.get(directive.id);
    if (of?.model)
      executions.set(
        directive.id,
        asks.filter(({ key }) => key === of.model?.digest),
      );
    else if (of) executions.set(directive.id, calls.get(of.label) ?? []);
  }
  const ids = new Set(directives.map(({ id }) => id));
  const cancels = [...history.cancels, ...cancelledByItself(view)];
  // Agents call no tools of the task server.
  const tasks = new Map();
  const shared = { view, signals, calls, asks, told, before, faults, others, planned, executions, tasks };
  return { ...shared, history: { ...history, cancels }, accepted: ids, possible: ids, single: null };
}

/** Whether a limit ended the run while it had an answer, and a model was still asked about later input. */
export function isCutShort({ status, unread_inputs: unread = [] }: WireRun): boolean {
  return unread.length > 0 && status === 'completed';
}

/** A run that does not complete, or that a limit cuts short, ends its open work with it. */
function cancelledByItself(view: WireRequest | null): CancelRecord[] {
  if (view?.run === undefined || (view.run.status === 'completed' && !isCutShort(view.run))) return [];
  const nobody = { target: null, api: 'the run itself', verdicts: new Map() };
  return [{ ...nobody, sentAt: Number.NaN, answeredAt: Number.NaN, status: 200 }];
}

const COMMON = { body: {}, toolFailures: 0, deadlineMs: 900_000 };

/** The start signal names the call; a call that did not start was not made. */
function planToolCall(
  { id }: WireDirective,
  { signals, planned }: { signals: readonly WireSignal[]; planned: Map<string, PlannedDirective> },
): void {
  const started = signals.find(({ type, causationid }) => type === 'ai.tool.started' && causationid === id);
  const { label = '', a = 0, b = 0 } = (started?.data['arguments'] ?? {}) as Partial<Asked>;
  const { tool_name: tool = '' } = (started?.data ?? {}) as { tool_name?: string };
  const effect = tool.endsWith('.once') ? 'once' : tool.endsWith('.read') ? 'read' : 'idempotent';
  planned.set(id, {
    ...COMMON,
    id,
    kind: 'tool_exec',
    expect: 'answer',
    effect,
    label,
    sum: a + b,
    maxRetries: CALL_RETRIES,
    timeoutMs: 10_000,
    model: null,
  });
}

interface Asked {
  readonly label: string;
  readonly a: number;
  readonly b: number;
}

function modelCall(run: PlannedRun, { id, type }: WireDirective, shown: readonly Said[]): PlannedDirective {
  const turn = answerTo(shown);
  const fails = run.kind === 'failing';
  return {
    ...COMMON,
    id,
    kind: type,
    expect: fails ? 'model_failure' : 'turn',
    effect: 'idempotent',
    label: `${run.script.label}/model`,
    sum: 0,
    maxRetries: fails ? BRITTLE_RETRIES : CALL_RETRIES,
    timeoutMs: null,
    model: {
      chain: CHAINS['only'] ?? [],
      digest: digestOf(shown),
      turn,
      vectors: null,
      usage: usageOf(shown, turn),
      streams: run.streams,
    },
  };
}
