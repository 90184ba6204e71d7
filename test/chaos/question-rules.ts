/** The promises about calls that their server keeps as tasks, and about what tools ask: a task that is known is not given up,
 *  and each question has one answer, which is the one that the tool gets.
 *  It must never judge by how long something took. */
import type { Case } from './directive-case.ts';
import { errorType, MAX_REDELIVERIES, stopsDuring } from './directive-case.ts';

const GIVEN_UP: ReadonlySet<string> = new Set(['outcome_unknown', 'worker_lost', 'network']);

/** A server is asked only about what is written down, so that every next worker knows it, too. */
export function checkTask(all: Case): string[] {
  const { tasks, result, view } = all;
  const last = tasks.findLast(({ what }) => what === 'made');
  const isKnown = tasks.some(({ what, taskId }) => what === 'asked' && taskId === last?.taskId);
  const type = errorType(result) ?? '';
  // A worker that stops while Redis is away may leave what it could not write.
  const mayBeUnwritten = stopsDuring(all) > 0;
  if (!isKnown || !GIVEN_UP.has(type) || view.redeliveries > MAX_REDELIVERIES || mayBeUnwritten) return [];
  return [`its server kept it as a task and was asked for it, and it ended as ${type}`];
}

/** Asked once and answered once each; at the end of a call that succeeded none is open. */
export function checkQuestions({ evidence, view, signals, result }: Case): string[] {
  const asked = idsOf(signals, 'ai.tool.input_requested');
  const over = idsOf(signals, 'ai.tool.input_answered');
  const found = [
    ...repeated(asked).map((id) => `${id} was asked twice`),
    ...repeated(over).map((id) => `${id} was answered twice`),
    ...over.filter((id) => !asked.includes(id)).map((id) => `${id} was answered, and never asked`),
  ];
  const open = asked.filter((id) => !over.includes(id));
  if (result?.ok === true) found.push(...open.map((id) => `${id} was left open`));
  // A call that ends by force takes its last question with it.
  else if (open.length > 1) found.push(`${open.length} questions were left open`);
  for (const id of asked) {
    const taken = evidence.history.answers.filter(({ inputId, status }) => inputId === id && status === 200);
    if (new Set(taken.map(({ n }) => n)).size > 1) found.push(`two answers to ${id} were accepted`);
  }
  return [...found, ...checkGiven({ evidence, view, signals, result })];
}

/** The attempts that ended with a question: the next one brings the answer, and no failure is counted. */
export function roundsOf({ signals }: Case): number {
  return idsOf(signals, 'ai.tool.input_requested').length;
}

/** What the tool got is what somebody answered, or nobody did in time. */
function checkGiven({
  evidence,
  signals,
  result,
}: Pick<Case, 'evidence' | 'view' | 'signals' | 'result'>): string[] {
  const given = result?.ok === true ? answerIn(result.payload) : null;
  if (given === null) return [];
  const asked = new Set(idsOf(signals, 'ai.tool.input_requested'));
  const answers = evidence.history.answers.filter(({ inputId }) => asked.has(inputId));
  const possible = answers.filter(({ status }) => status === 200 || status === 'lost' || status === 503);
  const isOurs = possible.some(({ n }) => String(n) === given);
  const nobody = signals.some(
    ({ type, data }) => type === 'ai.tool.input_answered' && data['cause'] !== 'answer',
  );
  if (isOurs || (nobody && (given === 'decline' || given === 'cancel'))) return [];
  return [`its tool was answered ${given}, which nobody has said`];
}

function answerIn(payload: unknown): string | null {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return /"answer":"(?<answer>[^"]*)"/.exec(text)?.groups?.['answer'] ?? null;
}

function idsOf(signals: Case['signals'], type: string): string[] {
  return signals.filter((signal) => signal.type === type).map(({ data }) => String(data['input_id']));
}

function repeated(ids: readonly string[]): string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}
