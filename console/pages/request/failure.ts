/** How a request failed: the error, the step that failed, and the way on from there. Never takes a failure that was redriven for one. */
import { isObject } from '../../../src/contract/json/json-object.ts';
import { redrivenAs } from '../../../src/contract/directive/redriven.ts';
import type { RequestTimeline } from '../../../src/contract/request/request-timeline.ts';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import type { Entry, StepError } from './conversation.ts';

/** Way on from a failure: continue the run, run it again as a new request, or execute the failed directive again. */
export type WayOn = 'resume' | 'again' | 'redrive';

export interface Failure {
  readonly error: StepError;
  /** Id of the directive that failed last; null: none did. */
  readonly directiveId: string | null;
  /** The first one is proposed. */
  readonly ways: readonly WayOn[];
}

/** null: the request is in progress or has succeeded. */
export function failureOf(
  { run, status, directives }: RequestView,
  timeline: RequestTimeline | undefined,
  entries: readonly Entry[],
): Failure | null {
  if (run !== undefined) {
    if (!hasFailed(run)) return null;
    const error = errorOf(run.error) ?? { type: run.termination_reason ?? run.status, message: '' };
    const ways: WayOn[] = run.started_at === null ? ['again'] : ['resume', 'again'];
    return { error, directiveId: failedIn(timeline, error.type), ways };
  }
  if (status === 'open') return null;
  const failed = directives.findLast(
    (each) => each.status === 'failed' && redrivenAs(each.id, directives) === null,
  );
  if (failed === undefined) return null;
  const { id, attempts } = failed;
  const type = timeline?.directives.find((each) => each.id === id)?.error ?? 'failed';
  const error = endErrorOf(entries, id) ?? { type, message: '' };
  return { error, directiveId: id, ways: attempts > 0 ? ['redrive', 'again'] : ['again'] };
}

/** Limits that end a run without its final answer, as a run that they have completed names them. */
const LIMITS: ReadonlySet<string> = new Set([
  'max_iterations',
  'max_tool_calls',
  'max_tokens',
  'max_cost',
  'deadline_exceeded',
]);

const hasFailed = ({ status, termination_reason: reason }: NonNullable<RequestView['run']>): boolean =>
  status === 'failed' ||
  status === 'cancelled' ||
  status === 'timeout' ||
  (status === 'completed' && LIMITS.has(reason ?? ''));

/** The last directive that ended with the error of the run, or the last one to end where it failed. */
function failedIn(timeline: RequestTimeline | undefined, type: string): string | null {
  const directives = timeline?.directives ?? [];
  const same = directives.findLast(({ status, error }) => status === 'failed' && error === type);
  if (same !== undefined) return same.id;
  const last = directives
    .filter(({ ended_at: at }) => at !== null)
    .toSorted((one, other) => (one.ended_at ?? '').localeCompare(other.ended_at ?? ''))
    .at(-1);
  return last?.status === 'failed' ? last.id : null;
}

function endErrorOf(entries: readonly Entry[], id: string): StepError | null {
  const ended = entries.find((each) => (each.kind === 'tool' || each.kind === 'step') && each.callId === id);
  return ended?.kind === 'tool' || ended?.kind === 'step' ? ended.error : null;
}

function errorOf(error: unknown): StepError | null {
  if (!isObject(error)) return null;
  const { type, message } = error;
  if (typeof type !== 'string') return null;
  return { type, message: typeof message === 'string' ? message : '' };
}
