/** The promises about one run of an agent: one end, nothing lost of what it was told, a history that follows from its model's
 *  words, each call made as often as it was asked for. It must never judge by how long something took. */
import type { Fault } from './history.ts';
import { checkLiveReader, checkLog, checkRequest } from './checker.ts';
import { servedMs } from './directive-case.ts';
import { checkDirective } from './directive-rules.ts';
import { checkApprovals } from './run-approvals.ts';
import { isCutShort, type RunEvidence } from './run-evidence.ts';
import { wasStarted } from './run-history.ts';
import { notInTime } from './judgement.ts';
import type { RunEnd } from './run-plan.ts';
import { canonical, readContent, undisturbedContent, undisturbedHistory } from './run-replay.ts';
import { TERMINAL_TYPES, type WireRun, type WireSignal } from './wire.ts';

/** All processes share one clock; only roundings differ. */
const ROUNDING_MS = 20;
const ENDS = new Set(['ai.request.completed', 'ai.request.failed']);
/** The statuses of ended runs, by termination reason. */
const STATUSES: Readonly<Record<RunEnd, string>> = {
  final_answer: 'completed',
  max_iterations: 'completed',
  max_tool_calls: 'failed',
  deadline_exceeded: 'timeout',
  cancelled: 'cancelled',
  approval_expired: 'failed',
  busy: 'failed',
  provider_error: 'failed',
  network: 'failed',
  worker_lost: 'failed',
};

/** Sentences, one for each promise that was broken; empty when all were kept. */
export function runViolationsOf(evidence: RunEvidence): string[] {
  const { history, view } = evidence;
  if (view === null) return wasStarted(history) ? ['started, and unknown'] : checkStarts(evidence);
  const { run } = view;
  if (run === undefined) return ['the request has no run'];
  const calls = view.directives.filter(({ type }) => type !== 'emit_tool_error');
  return [
    ...checkRequest(evidence),
    ...checkLog(evidence, (signal) => causeIn(evidence, signal)),
    ...checkLiveReader(evidence),
    ...checkStarts(evidence),
    ...checkEnd(evidence, run),
    ...checkCounts(evidence, run),
    ...checkTold(evidence, run),
    ...checkHistory(evidence, run),
    ...checkAsks(evidence),
    ...checkCalls(evidence, run),
    ...checkApprovals(evidence),
    ...checkTalk(evidence, run),
    ...calls.flatMap((directive) => checkDirective(evidence, directive)),
  ];
}

/** Of the request itself, of a directive, of a signal of this log, or of a message to the run. */
function causeIn({ history, view, signals }: RunEvidence, signal: WireSignal): string | null {
  const { causationid = '', data, type } = signal;
  const directives = view?.directives.some(({ id }) => id === causationid) ?? false;
  const ofCall = data.call_id !== undefined && type !== 'ai.tool.approval_requested';
  if (ofCall && data.call_id !== causationid) return `of ${data.call_id} is caused by ${causationid}`;
  const known =
    directives ||
    causationid === history.requestId ||
    history.inputs.some(({ id }) => id === causationid) ||
    signals.some(({ id, sequence }) => id === causationid && sequence < signal.sequence) ||
    (type === 'ai.tool.approval_decided' && ofCall);
  return known ? null : `is caused by ${causationid}`;
}

/** The same run at every start; other content is refused. */
function checkStarts({ history }: RunEvidence): string[] {
  return history.starts.flatMap(({ purpose, status, code }) => {
    const wanted = purpose === 'conflict' ? 409 : 202;
    const isAnswer = status !== 'lost' && status !== 503 && status !== 429;
    return isAnswer && status !== wanted ? [`a ${purpose} was answered ${status} ${code}`] : [];
  });
}

/** A limit that leaves no room to read an input ends the run with the answer it has. */
function statusAfter(reason: RunEnd, run: WireRun): string {
  return isCutShort(run) ? run.status : STATUSES[reason];
}

function checkEnd({ history, view, signals, faults }: RunEvidence, run: WireRun): string[] {
  const found: string[] = [];
  const ends = signals.filter(({ type }) => ENDS.has(type));
  const [end] = ends;
  if (end === undefined && view?.status === 'open') return [notInTime('0 ends of the run')];
  if (end === undefined || ends.length !== 1) return [`${ends.length} ends of the run`];
  const started = signals.filter(({ type }) => type === 'ai.request.started').length;
  const reason = (run.termination_reason ?? '') as RunEnd;
  if (started > 1 || (started === 0 && run.iterations > 0)) found.push(`${started} starts of the run`);
  const completed = end.type === 'ai.request.completed';
  if (completed !== (run.status === 'completed')) found.push(`${end.type} of a run that is ${run.status}`);
  if (
    canonical(completed ? end.data['result'] : end.data['error']) !==
    canonical(completed ? run.result : run.error)
  )
    found.push('its end says something else than its view');
  const isLost = reason === 'worker_lost' && signals.some(isLostModel);
  const isUnserved = reason === 'deadline_exceeded' && wasUnserved(signals, end, faults);
  if (!history.planned.ends.includes(reason) && !isLost && !isUnserved) {
    const sentence = `ended as ${run.status} (${reason}: ${canonical(run.error)}), not as ${history.planned.ends.join(' or ')}`;
    found.push(reason === 'deadline_exceeded' ? notInTime(sentence) : sentence);
  } else if (statusAfter(reason, run) !== run.status) found.push(`${reason} made it ${run.status}`);
  if (run.waiting_for.length > 0) found.push(`waits for ${JSON.stringify(run.waiting_for)}`);
  return [...found, ...checkAfter({ view, signals }, end, completed && !isCutShort(run))];
}

/** Whether its workers were away for most of its time: a busy machine takes half a minute to start one again. */
function wasUnserved([first]: readonly WireSignal[], end: WireSignal, faults: readonly Fault[]): boolean {
  const [from, to] = [Date.parse(first?.time ?? end.time), Date.parse(end.time)];
  return servedMs(faults, from, to) < (to - from) / 2;
}

/** Whether the workers really died is what the rules of directives check. */
function isLostModel({ type, data: { result } }: WireSignal): boolean {
  return type === 'ai.llm.response' && result?.ok === false && result.error.type === 'worker_lost';
}

/** After the end only work that was under way still ends. */
function checkAfter(
  { view, signals }: Pick<RunEvidence, 'view' | 'signals'>,
  end: WireSignal,
  isWhole: boolean,
): string[] {
  const after = signals.filter(({ sequence }) => sequence > end.sequence);
  if (isWhole) return after.map(({ type }) => `${type} after the run was completed`);
  const open = (view?.directives ?? []).filter(({ ended_at: endedAt }) => endedAt === null);
  const ending = new Set([
    ...open.map(({ id }) => id),
    ...after.filter(({ type }) => TERMINAL_TYPES.has(type)).map(({ causationid }) => causationid),
  ]);
  const strange = after.filter(
    ({ causationid, type }) => !ending.has(causationid) && type !== 'ai.request.input',
  );
  return strange.map(({ type }) => `${type} after the run had failed`);
}

function checkCounts({ view, signals }: RunEvidence, run: WireRun): string[] {
  const found: string[] = [];
  const ofType = (test: (type: string) => boolean): number =>
    view?.directives.filter(({ type }) => test(type)).length ?? 0;
  const models = ofType((type) => type.startsWith('llm_'));
  const tools = ofType((type) => type === 'tool_exec');
  if (run.iterations !== models) found.push(`${run.iterations} iterations, ${models} model calls`);
  if (run.tool_calls !== tools) found.push(`${run.tool_calls} tool calls are counted, ${tools} were made`);
  const end = signals.find(({ type }) => ENDS.has(type))?.sequence ?? 0;
  for (const name of ['input_tokens', 'output_tokens']) {
    const reported = signals
      .filter(({ type, sequence }) => type === 'ai.usage' && sequence < end)
      .reduce((sum, { data }) => sum + Number(data[name]), 0);
    const enough = run.status === 'completed' ? run.usage[name] === reported : (run.usage[name] ?? 0) >= 0;
    if (!enough) found.push(`${name} are ${run.usage[name]}, its calls used ${reported}`);
  }
  return found;
}

/** What was sent to the run and how it was answered: inputs are in the history once, a cancellation ends it. */
function checkTold({ history, signals, told }: RunEvidence, run: WireRun): string[] {
  const found: string[] = [];
  const end = signals.find(({ type }) => type === 'ai.request.completed');
  const answer = signals.find(({ id }) => id === end?.causationid);
  const heard = signals.filter(({ type }) => type === 'ai.request.input');
  for (const [id, content] of new Map(history.inputs.map((input) => [input.id, input.content]))) {
    const answers = history.inputs.filter((input) => input.id === id);
    const signalsOf = heard.filter(({ data }) => data['input_id'] === id);
    const times = told.inputs.filter((input) => input === content).length;
    const accepted = answers.some(({ status }) => status === 202);
    if (signalsOf.length > 1) found.push(`the input ${id} is ${signalsOf.length} times in the log`);
    if (times > signalsOf.length) found.push(`the input ${id} is ${times} times in the history`);
    if (accepted && signalsOf.length === 0) found.push(`the input ${id} was accepted and is not in the log`);
    if (run.termination_reason === 'final_answer' && signalsOf.length > 0 && times === 0)
      found.push(`the input ${id} was accepted, and the run completed without it`);
    const strange = answers.filter(({ status }) => !['lost', 202, 404, 409, 503].includes(status));
    found.push(...strange.map(({ status, code }) => `the input ${id} was answered ${status} ${code}`));
  }
  const known = new Set(history.inputs.map(({ content }) => content));
  found.push(...told.inputs.filter((input) => !known.has(input)).map((input) => `nobody said ${input}`));
  const cancel = signals.find(({ type }) => type === 'ai.request.cancel_requested');
  // Of an answer and a cancellation, the first one in the log decides.
  if (cancel !== undefined && (answer?.sequence ?? 0) > cancel.sequence)
    found.push('completed after it was cancelled');
  const endedAt = Date.parse(run.ended_at ?? '');
  const unheard = history.cancels.filter(
    ({ status, target, answeredAt }) =>
      status === 200 && target === null && answeredAt < endedAt - ROUNDING_MS,
  );
  if (unheard.length > 0 && cancel === undefined)
    found.push('a cancellation was acknowledged, and the run went on');
  return found;
}

/** The model's messages and the tools' answers, in order; for an undisturbed run exactly the computed history. */
function checkHistory({ history, told, before, view }: RunEvidence, run: WireRun): string[] {
  const found = [...told.found];
  const { planned } = history;
  const own = (view?.run?.messages ?? []).slice(before.length);
  if (run.termination_reason === 'busy') return [];
  planned.given.forEach((message, index) => {
    if (canonical(own[index]) !== canonical(message))
      found.push(`message ${index} is ${canonical(own[index])}`);
  });
  if (run.termination_reason === 'final_answer' && (told.answer === null || run.result !== told.answer))
    found.push(`the result is ${JSON.stringify(run.result)}, the last answer ${JSON.stringify(told.answer)}`);
  if (told.ranOut !== (run.termination_reason === 'max_iterations'))
    found.push('its history does not say how it ended');
  // Four workers may die during one call: then its answer reports that, as the rules of directives check.
  const isLost = told.calls.some(({ content }) => readContent(content).error?.type === 'worker_lost');
  const undisturbed =
    !isLost &&
    run.termination_reason === 'final_answer' &&
    (planned.kind === 'steady' || planned.kind === 'spoken');
  if (undisturbed && before.length === 0 && canonical(own) !== canonical(undisturbedHistory(planned)))
    found.push(
      `the history is ${canonical(own)}, undisturbed it is ${canonical(undisturbedHistory(planned))}`,
    );
  return found;
}

/** The model saw each part of the history up to one of its answers, and nothing else. */
function checkAsks({ asks, executions, told }: RunEvidence): string[] {
  const found: string[] = [];
  const known = new Set([...executions.values()].flat());
  for (const ask of asks)
    if (!known.has(ask)) found.push(`the model was asked ${ask.key}, which is not in the history`);
  const answered = told.answer === null ? told.shown.length - 1 : told.shown.length;
  const keys = new Set(asks.map(({ key }) => key)).size;
  if (!told.ranOut && keys < answered) found.push(`${keys} conversations for ${answered} answers`);
  return found;
}

/** Every call of the history was made as often as requested, and its answer comes from the tool or the policy. */
function checkCalls({ told, calls, planned, signals, view }: RunEvidence, run: WireRun): string[] {
  const found: string[] = [];
  const made = Map.groupBy(
    [...planned.values()].filter(({ kind }) => kind === 'tool_exec'),
    ({ label }) => label,
  );
  for (const [label, directives] of made)
    if (label !== '' && directives.length > 1) found.push(`${label} was made ${directives.length} times`);
  const asked = new Set(told.calls.map(({ call }) => call.arguments.label));
  for (const [label, executions] of calls)
    if (executions.length > 0 && !asked.has(label)) found.push(`${label} was executed, and not asked for`);
  for (const { call, content, isError } of told.calls) {
    const { label } = call.arguments;
    const directive = made.get(label)?.[0];
    const executions = calls.get(label) ?? [];
    if (!isError && executions.length === 0) found.push(`${label} succeeded without an execution`);
    if (directive === undefined) {
      if (executions.length > 0) found.push(`${label} was executed without a directive`);
      if (!isError) found.push(`${label} succeeded without a directive`);
      continue;
    }
    found.push(
      ...checkContent(
        { label, content, isError, over: run.status !== 'completed' },
        signals,
        directive.id,
        undisturbedContent(call),
      ),
    );
  }
  if (run.termination_reason === 'final_answer') {
    const open = view?.directives.filter(({ ended_at }) => ended_at === null) ?? [];
    found.push(...open.map(({ id }) => `${id} is open`));
  }
  return found;
}

/** What the model read is the answer in the log, and for an unedited success the tool's own text. */
function checkContent(
  { label, content, isError, over }: { label: string; content: string; isError: boolean; over: boolean },
  signals: readonly WireSignal[],
  id: string,
  undisturbed: string,
): string[] {
  const terminal = signals.find(({ type, causationid }) => type === 'ai.tool.result' && causationid === id);
  const result = terminal?.data.result;
  const started = signals.find(({ type, causationid }) => type === 'ai.tool.started' && causationid === id);
  if (result === undefined) return [];
  const ends = signals.find(({ type }) => ENDS.has(type))?.sequence ?? Number.POSITIVE_INFINITY;
  // The run ended before it read the answer: its history shows that.
  if (over && isError) return [];
  if ((terminal?.sequence ?? 0) > ends) return isError ? [] : [`${label} was answered before it had ended`];
  const read = readContent(content);
  if (isError === result.ok || read.ok !== result.ok)
    return [`${label} reads ${content}, it ended ok: ${result.ok}`];
  if (!result.ok)
    return read.error?.type === result.error.type
      ? []
      : [`${label} reads ${content}, not ${result.error.type}`];
  const { a, b } = (started?.data['arguments'] ?? {}) as { a: number; b: number };
  const edited = JSON.stringify({ ok: true, result: JSON.stringify({ label, sum: a + b }) });
  return content === undisturbed || content === edited
    ? []
    : [`${label} reads ${content}, not ${undisturbed}`];
}

/** Each run of a conversation begins with all messages of the one before. */
function checkTalk({ before, others, view }: RunEvidence, run: WireRun): string[] {
  if (run.iterations === 0) return [];
  const begun = others.filter(({ iterations }) => iterations > 0);
  const own = view?.run?.messages ?? [];
  if (before.length === 0) {
    const deaf = begun.filter(({ messages }) => canonical(messages.slice(0, own.length)) !== canonical(own));
    return deaf.map(
      () => 'neither it nor the other run of the conversation goes on from what was said before',
    );
  }
  const same = begun.some(({ messages }) => canonical(messages) === canonical(before));
  return same ? [] : [`begins with ${before.length} messages that no other run of the conversation has`];
}
