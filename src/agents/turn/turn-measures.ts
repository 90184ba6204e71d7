// The reports of a written turn: its time, and the beginning or the end of its run.
// Must never be called for a turn that another engine has written.
import { tagsOf } from '../../contract/directive/tags.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { EVERYTHING, type FactCounts, type Reports } from '../../platform/telemetry/reports.ts';
import type { RunActivity, RunActivityIndex } from '../../store/run/run-activity-index.ts';
import { type RunState, stateOf } from '../core/run-state.ts';
import { isOver } from './fold.ts';
import type { StoredRun } from './run-store.ts';
import type { RunDocument } from './transition.ts';
import type { Turn } from './turn-record.ts';

interface Measuring {
  reports: Reports;
  activity: Pick<RunActivityIndex, 'note'>;
}

/** `startedAt`: by the process' monotonic clock. */
export function measureTurn(
  { reports, activity }: Measuring,
  run: StoredRun,
  { folded: { document } }: Turn,
  startedAt: number,
): void {
  const { requestId, document: before, spec, now } = run;
  const { meters } = reports;
  const { agent } = spec;
  const did = before === null ? null : activityOf(before);
  const does = activityOf(document);
  if (did !== does) activity.note(requestId, does);
  meters.turnTaken(performance.now() - startedAt);
  if (before === null) meters.runStarted(agent);
  const hadEnded = before !== null && isOver(before);
  if (!hadEnded && isOver(document))
    meters.runEnded({ agent, status: document.status, durationMs: now - spec.started_at });
  countTurn(reports, run, document);
}

/** Counts what the turn has begun, ended and learnt to be spent. A resumed run ends once more. */
function countTurn(
  { count }: Pick<Reports, 'count'>,
  { requestId, document: before, spec, now }: StoredRun,
  document: RunDocument,
): void {
  const names = [
    ['agent', spec.agent] as const,
    ...tagsOf(spec.metadata).map((tag) => ['tag', tag] as const),
  ];
  if (before === null) count(requestId, { series: [EVERYTHING, ...names], started: true });
  const spent = spentBetween(before === null ? null : stateOf(before), stateOf(document));
  if (spent !== null) count(requestId, { series: names, ...spent });
  if (!isOver(document) || (before !== null && isOver(before))) return;
  const ended = { errorType: errorTypeOf(document), durationMs: Math.max(0, now - spec.started_at) };
  count(requestId, { series: [EVERYTHING, ...names], ended });
}

/** null: nothing, or a damaged document does not say. Calls of models and tools by themselves are counted by their worker. */
function spentBetween(before: Partial<RunState> | null, after: Partial<RunState>): FactCounts | null {
  const spent = (state: Partial<RunState> | null, name: 'input_tokens' | 'output_tokens'): number =>
    state?.usage?.[name] ?? 0;
  const tokens = {
    input: Math.max(0, spent(after, 'input_tokens') - spent(before, 'input_tokens')),
    output: Math.max(0, spent(after, 'output_tokens') - spent(before, 'output_tokens')),
  };
  const toolCalls = Math.max(0, (after.counters?.tool_calls ?? 0) - (before?.counters?.tool_calls ?? 0));
  const cost = Math.max(0, (after.cost ?? 0) - (before?.cost ?? 0));
  return tokens.input + tokens.output + toolCalls + cost === 0 ? null : { tokens, toolCalls, cost };
}

/** null: it has completed. */
function errorTypeOf(document: RunDocument): string | null {
  if (document.status === 'completed' || document.status === 'cancelled')
    return document.status === 'completed' ? null : 'cancelled';
  const { error } = stateOf(document);
  const type = isObject(error) ? error['type'] : undefined;
  return typeof type === 'string' ? type : document.status;
}

/** null: it has ended. An approval counts before what runs beside it: a person has to act. */
function activityOf(document: RunDocument): RunActivity | null {
  const { ended, held, question } = stateOf(document);
  if (ended !== null && ended !== undefined) return null;
  if (Object.keys(held ?? {}).length > 0 || (question ?? null) !== null) return 'approval';
  return document.status === 'waiting' ? 'waiting' : 'running';
}
