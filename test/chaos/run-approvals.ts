/** The promises about calls that need approval: no call without it, each decision once, and every decision carried out.
 *  It must never judge whether the decision was wise. */
import type { RunEvidence } from './run-evidence.ts';
import type { DecisionRecord } from './run-history.ts';
import { readContent, type ToldCall } from './run-replay.ts';
import type { WireSignal } from './wire.ts';

/** All processes share one clock; only roundings differ. */
const ROUNDING_MS = 20;

export function checkApprovals(evidence: RunEvidence): string[] {
  const { history, signals, told } = evidence;
  const requests = signals.filter(({ type }) => type === 'ai.tool.approval_requested');
  const found = twice(requests).map((id) => `approval was requested twice for ${id}`);
  const decisions = signals.filter(({ type }) => type === 'ai.tool.approval_decided');
  found.push(...twice(decisions).map((id) => `${id} was decided about twice`));
  const strange = history.decisions.filter(({ status }) => !['lost', 503, 200, 409, 404].includes(status));
  found.push(
    ...strange.map(({ callId, status, code }) => `a decision about ${callId} was answered ${status} ${code}`),
  );
  for (const request of requests) found.push(...checkOne(evidence, request));
  if (history.planned.kind !== 'careful') return [...found, ...requests.map(() => 'approval was requested')];
  const held = new Set(requests.map(({ data }) => (data['arguments'] as { label: string }).label));
  const unasked = told.calls.filter(
    ({ call }) => call.tool.endsWith('.once') && !held.has(call.arguments.label),
  );
  return [...found, ...unasked.map(({ call }) => `${call.arguments.label} was made without approval`)];
}

function twice(signals: readonly WireSignal[]): string[] {
  const ids = signals.map(({ data }) => data.call_id ?? '');
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}

function checkOne({ history, view, signals, told, calls }: RunEvidence, { data }: WireSignal): string[] {
  const id = data.call_id ?? '';
  const { label } = data['arguments'] as { label: string };
  const decided = signals.find(
    ({ type, data: said }) => type === 'ai.tool.approval_decided' && said.call_id === id,
  );
  const given = history.decisions.filter(({ callId, status }) => callId === id && status === 200);
  const outcome = told.calls.find(({ call }) => call.arguments.label === label);
  const executed = calls.get(label)?.length ?? 0;
  const found: string[] = [];
  if (given.length > 0 && decided === undefined) found.push('was decided about, and the log does not say so');
  if (given.some(({ decision }) => decision !== decided?.data['decision']))
    found.push('was decided about otherwise');
  const { error } = view?.run ?? { error: null };
  const ended = error?.type === 'approval_expired' && error.details?.['call_id'] === id;
  const inTime =
    decided !== undefined && Date.parse(decided.time) < Date.parse(String(data['deadline_at'])) - ROUNDING_MS;
  if (ended && executed > 0) found.push('was executed without approval');
  if (ended && inTime) found.push('expired, and was decided about in time');
  if (outcome !== undefined) found.push(...checkOutcome(outcome, { executed, decided }));
  found.push(...checkEdits(given, signals, id));
  return found.map((sentence) => `${label} ${sentence}`);
}

interface Leave {
  readonly executed: number;
  readonly decided: WireSignal | undefined;
}

function checkOutcome({ content }: ToldCall, { executed, decided }: Leave): string[] {
  const found: string[] = [];
  const { error } = readContent(content);
  const refused = error?.type === 'denied';
  const decision = decided?.data['decision'];
  if (refused && executed > 0) found.push('was executed without approval');
  if (refused && decision !== 'deny') found.push('was denied by nobody');
  if (
    !refused &&
    error?.type !== 'cancelled' &&
    error?.type !== 'approval_expired' &&
    error?.type !== 'deadline_exceeded' &&
    decision !== 'approve'
  )
    found.push('was made without approval');
  return found;
}

/** The arguments are those of the decision. */
function checkEdits(given: readonly DecisionRecord[], signals: readonly WireSignal[], id: string): string[] {
  const started = signals.find(({ type, causationid }) => type === 'ai.tool.started' && causationid === id);
  const edited = given.find((decision) => decision.arguments !== null)?.arguments;
  if (started === undefined || edited === null || edited === undefined) return [];
  const { a } = started.data['arguments'] as { a: number };
  return a === edited['a'] ? [] : ['was made with other arguments than were approved'];
}
