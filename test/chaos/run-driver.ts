/** Executes the plan of one run: starts it, more than once, sends input, decides, cancels; and records the answers.
 *  It must never judge an answer: the checker does. */
import { setTimeout as delay } from 'node:timers/promises';
import { cancelOnce } from './canceller.ts';
import { follow } from './follower.ts';
import { chanceOf, type Chance } from './random.ts';
import {
  createRunHistory,
  type DecisionRecord,
  type RunHistory,
  type StartRecord,
  unanswered,
} from './run-history.ts';
import { decisionAbout, type PlannedInput, type PlannedRun, possibleCalls } from './run-plan.ts';
import { exchange, type Exchange, type ExchangeOptions, read } from './transport.ts';
import type { WireSignal, WireSignalPage } from './wire.ts';

const AGAIN_MS = { min: 50, max: 400 };
/** A start that is not accepted for this long is given up; the outages of a run are much shorter. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 600;

export interface RunDrive {
  readonly history: RunHistory;
  /** Resolves when everything planned was sent and answered; decisions may follow. */
  readonly done: Promise<void>;
  /** Ends the live reader and the decisions. */
  leave(): void;
}

interface Stage {
  readonly planned: PlannedRun;
  readonly history: RunHistory;
  readonly apis: readonly string[];
  readonly chance: Chance;
}

export function driveRun(planned: PlannedRun, apis: readonly string[]): RunDrive {
  const history = createRunHistory(planned);
  const stage: Stage = { planned, history, apis, chance: chanceOf(`${planned.requestId}/drive`) };
  const leaving = new AbortController();
  if (planned.followed) void follow(history, apis, leaving.signal, interrupter(stage));
  if (planned.decides) void decideWhile(stage, leaving.signal);
  return { history, done: carryOut(stage), leave: () => leaving.abort() };
}

async function carryOut(stage: Stage): Promise<void> {
  const { planned } = stage;
  await delay(planned.atMs);
  const copies = Array.from({ length: planned.copies }, async () => startUntilAnswered(stage));
  const others: Promise<unknown>[] = [...inputsOf(stage), cancelOf(stage)];
  if ((await Promise.all(copies)).some(Boolean)) {
    const repeats = planned.repeatsAfterMs.map(async (afterMs) => start('repeat', stage, afterMs));
    const conflict = planned.conflictAfterMs;
    others.push(...repeats, ...(conflict === null ? [] : [start('conflict', stage, conflict)]));
  }
  await Promise.all(others);
}

/** True when some answer reports that the run is durable. */
async function startUntilAnswered(stage: Stage): Promise<boolean> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  const { cutAfterMs } = stage.planned;
  for (let first = true; Date.now() < giveUpAt; first = false) {
    const cut = first && cutAfterMs !== null ? { cutAfterMs } : {};
    const { status } = await start('start', stage, 0, cut);
    if (status === 202) return true;
    if (status !== 'lost' && status !== 503 && status !== 429) return false;
    await delay(stage.chance.between(AGAIN_MS.min, AGAIN_MS.max));
  }
  return false;
}

async function start(
  purpose: StartRecord['purpose'],
  { planned, history, apis, chance }: Stage,
  afterMs: number,
  options: Pick<ExchangeOptions, 'cutAfterMs'> = {},
): Promise<StartRecord> {
  await delay(afterMs);
  const record: StartRecord = { purpose, ...unanswered() };
  history.starts.push(record);
  const body = purpose === 'conflict' ? { ...planned.body, metadata: { other: 'content' } } : planned.body;
  note(record, await exchange(chance.pick(apis), 'POST', '/v1/requests', { ...options, body }));
  return record;
}

type Noted = ReturnType<typeof unanswered>;

function note(record: Noted, { answeredAt, status, body }: Exchange): void {
  record.answeredAt = answeredAt;
  record.status = status;
  record.code = (body as { code?: string }).code ?? '';
}

function inputsOf(stage: Stage): Promise<void>[] {
  return stage.planned.inputs.flatMap((planned) =>
    Array.from({ length: planned.copies }, async () => speak(planned, stage)),
  );
}

async function speak(
  { afterMs, id, content }: PlannedInput,
  { history, apis, chance }: Stage,
): Promise<void> {
  await delay(afterMs);
  const record = { id, content, ...unanswered() };
  history.inputs.push(record);
  const path = `/v1/requests/${history.requestId}/input`;
  note(record, await exchange(chance.pick(apis), 'POST', path, { body: { input_id: id, content } }));
}

/** Interrupts when the model has answered: the run's turn about that answer is under way. */
function interrupter(stage: Stage): (type: string) => void {
  const { planned, history, apis, chance } = stage;
  let answers = 0;
  return (type) => {
    if (type !== 'ai.llm.response') return;
    answers += 1;
    if (answers === planned.cancelAtAnswer) void cancelOnce(null, { history, apis, chance });
    const [id, content] = [`answer-${answers}`, `one more thing, ${planned.requestId} ${answers}`];
    if (answers <= planned.inputsAtAnswers) void speak({ afterMs: 0, id, content, copies: 1 }, stage);
  };
}

async function cancelOf({ planned, history, apis, chance }: Stage): Promise<void> {
  if (planned.cancelAfterMs === null) return;
  await delay(planned.cancelAfterMs);
  await cancelOnce(null, { history, apis, chance });
}

/** Reads which approvals the run needs, and decides about each call once, or as often as planned. */
async function decideWhile(stage: Stage, leaving: AbortSignal): Promise<void> {
  const asked = new Set<string>();
  let after = 0;
  while (!leaving.aborted) {
    const path = `/v1/requests/${stage.history.requestId}/signals?limit=500&after=${after}`;
    const page = await read<WireSignalPage>(stage.apis, path);
    const signals = page?.status === 200 ? page.body.signals : [];
    after = signals.at(-1)?.sequence ?? after;
    for (const signal of signals) {
      const { call_id: callId = '' } = signal.data;
      if (signal.type !== 'ai.tool.approval_requested' || asked.has(callId)) continue;
      asked.add(callId);
      void decide(signal, callId, stage);
    }
    if (page?.status === 200 && page.body.closed) return;
    await delay(LOOK_MS, undefined, { signal: leaving }).catch(() => {});
  }
}

async function decide({ data }: WireSignal, callId: string, stage: Stage): Promise<void> {
  const { label } = data['arguments'] as { label: string };
  const call = possibleCalls(stage.planned).get(label);
  const decision = call === undefined ? null : decisionAbout(call);
  if (decision === null || decision.kind === 'never') return;
  await delay(decision.afterMs);
  await say({ callId, decision: decision.kind, arguments: decision.arguments }, stage);
  if (decision.again === null) return;
  const opposite = decision.kind === 'approve' ? 'deny' : 'approve';
  const again = decision.again === 'same' ? decision.kind : opposite;
  await say({ callId, decision: again, arguments: again === 'deny' ? null : decision.arguments }, stage);
}

/** Until it gets an answer: people do not give up because of an outage. */
async function say(
  decided: Pick<DecisionRecord, 'callId' | 'decision' | 'arguments'>,
  { history, apis, chance }: Stage,
): Promise<void> {
  const { callId, decision, arguments: args } = decided;
  const path = `/v1/requests/${history.requestId}/approvals/${callId}`;
  const body = { decision, ...(args === null ? {} : { arguments: args }) };
  for (const giveUpAt = Date.now() + PATIENCE_MS; Date.now() < giveUpAt;) {
    const record: DecisionRecord = { ...decided, ...unanswered() };
    history.decisions.push(record);
    note(record, await exchange(chance.pick(apis), 'POST', path, { body }));
    if (record.status !== 'lost' && record.status !== 503) return;
    await delay(chance.between(AGAIN_MS.min, AGAIN_MS.max));
  }
}
