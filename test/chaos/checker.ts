/** The promises about one request, checked by what is visible from outside at the end.
 *  It must never share code with what it checks. */
import { checkDirective } from './directive-rules.ts';
import type { Evidence } from './evidence.ts';
import { notInTime } from './judgement.ts';
import type { WireSignal } from './wire.ts';

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Sentences, one for each promise that was broken; empty when all were kept. */
export function violationsOf(evidence: Evidence): string[] {
  const { view, accepted } = evidence;
  if (view === null) return accepted.size === 0 ? [] : [`accepted, and unknown: ${[...accepted].join(', ')}`];
  return [
    ...checkRequest(evidence),
    ...checkLog(evidence, (signal) => causeIn(evidence, signal)),
    ...checkMembers(evidence),
    ...checkSubmissions(evidence),
    ...checkLiveReader(evidence),
    ...checkChanges(evidence),
    ...view.directives.flatMap((directive) => checkDirective(evidence, directive)),
  ];
}

export function checkRequest({ view, signals }: Evidence): string[] {
  if (view === null) return [];
  const found: string[] = [];
  if (view.status !== 'closed') found.push(notInTime(`the request is ${view.status}`));
  const wrongCount = `the request says that ${view.open} directives are open`;
  if (view.open !== 0) found.push(view.status === 'open' ? notInTime(wrongCount) : wrongCount);
  if (view.sequence !== signals.length)
    found.push(`the request counts ${view.sequence} signals, the log has ${signals.length}`);
  return found;
}

/** `causeOf` returns what is wrong with the cause of a signal. */
export function checkLog(
  { history, signals }: Pick<Evidence, 'history' | 'signals'>,
  causeOf: (signal: WireSignal) => string | null,
): string[] {
  const found: string[] = [];
  signals.forEach(({ sequence }, index) => {
    if (sequence !== index + 1) found.push(`signal ${index + 1} of the log has the sequence ${sequence}`);
  });
  if (new Set(signals.map(({ id }) => id)).size !== signals.length) found.push('two signals have one id');
  for (const signal of signals) {
    const cause = causeOf(signal);
    const faults = [...checkAttributes(signal, history.requestId), ...(cause === null ? [] : [cause])];
    found.push(...faults.map((fault) => `signal ${signal.sequence} (${signal.type}) ${fault}`));
  }
  return found;
}

function checkAttributes(signal: WireSignal, requestId: string): string[] {
  const found: string[] = [];
  if (signal.specversion !== '1.0') found.push(`has the specversion ${signal.specversion}`);
  if (signal.subject !== requestId) found.push(`has the subject ${signal.subject}`);
  if (!TRACEPARENT.test(signal.traceparent ?? '')) found.push('has no valid traceparent');
  if (Number.isNaN(Date.parse(signal.time))) found.push('has no valid time');
  return found;
}

/** Every signal is of one planned directive. */
function causeIn({ planned }: Evidence, { causationid, data }: WireSignal): string | null {
  if (!planned.has(causationid ?? '')) return `is caused by ${causationid}`;
  if (data.call_id === undefined || data.call_id === causationid) return null;
  return `of ${data.call_id} is caused by ${causationid}`;
}

/** What exists was accepted, and what was accepted exists. */
function checkMembers({ view, accepted, possible }: Evidence): string[] {
  const there = new Set(view?.directives.map(({ id }) => id));
  const missing = [...accepted].filter((id) => !there.has(id));
  const strange = [...there].filter((id) => !accepted.has(id) && !possible.has(id));
  return [
    ...missing.map((id) => `${id} was accepted and is not there`),
    ...strange.map((id) => `${id} was never accepted and is there`),
  ];
}

function checkSubmissions({ history, view, signals }: Evidence): string[] {
  const terminalIds = new Map(signals.map((signal) => [signal.id, signal.causationid]));
  const there = new Set(view?.directives.map(({ id }) => id));
  return history.submissions.flatMap(({ purpose, status, code, directives, verdicts, results }) => {
    const found: string[] = [];
    const answered = status !== 'lost' && status !== 503;
    const wanted = purpose === 'conflict' ? [409] : purpose === 'invalid' ? [400] : [200, 202];
    if (answered && !wanted.includes(status) && !(status === 429 && purpose !== 'invalid'))
      found.push(`${purpose} was answered ${status} ${code}`);
    const some = directives.filter(({ id }) => there.has(id)).length;
    if (some !== 0 && some !== directives.length)
      found.push(`${some} of a batch of ${directives.length} are there`);
    if (verdicts.size > 0 && verdicts.size !== directives.length)
      found.push(`${verdicts.size} answers to a batch of ${directives.length}`);
    for (const [id, signalId] of results) {
      if (terminalIds.get(signalId) !== id)
        found.push(`the answer held a result of ${id} that the log has not`);
    }
    return found;
  });
}

/** `not_waiting` and `not_found` are answers at any time: nobody knows from outside what waits. */
const ANSWERS_TO_CHANGE: ReadonlySet<number | string> = new Set([200, 404, 409, 429, 503, 'lost']);

/** What a rule of the configuration fixes nobody changes. */
function checkChanges({ history }: Evidence): string[] {
  return history.changes.flatMap(({ directive: { id, flow }, priority, status }) => [
    ...(ANSWERS_TO_CHANGE.has(status) ? [] : [`the priority of ${id}: the answer was ${status}`]),
    ...(status === 200 && flow?.isFixed === true
      ? [`${id} got the priority ${priority}, and a rule fixes it`]
      : []),
  ]);
}

/** Each connection continues where the last one was cut, and its signals are in the log. */
export function checkLiveReader({ history, signals }: Evidence): string[] {
  return history.seen.flatMap(({ sequence, id }, index) => {
    const found: string[] = [];
    if (sequence !== index + 1) found.push(`the live reader got ${sequence} in the place of ${index + 1}`);
    if (signals[sequence - 1]?.id !== id)
      found.push(`the live reader got another signal ${sequence} than the log has`);
    return found;
  });
}
