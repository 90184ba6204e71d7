/** A call of a run that another program leads: the record of the run says which directive it is.
 *  It must never execute a call again whose record is not kept any more. */
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import { errorEnvelope } from '../../../contract/error-envelope.ts';
import {
  type AskedToolCall,
  PASS_HEADER,
  REPEAT_HEADER,
  RUN_DIRECTIVE_ID,
  RUN_HEADER,
  type ToolTarget,
} from '../../../contract/run/foreign-run.ts';
import { isTerminalSignal } from '../../../contract/signal/signal.ts';
import { headerOf, traceparentOf, whenWritten } from '../host.ts';
import type { Offer } from '../offered-tools.ts';
import { wholeName } from '../tool-names.ts';
import type { ToolSource } from '../tool-source.ts';
import { isOfRun } from './call-identity.ts';
import { failure, type Place } from './tool-answer.ts';

/** The tool calls in the records of runs, on behalf of the caller of now. */
export interface CallsOfRuns {
  /** Finds the directive of a call. Throws `DirectiveRefused`. */
  find(call: AskedToolCall): Promise<ToolTarget>;
  /** Notes that the answer of a call was given whole: until then a later turn that asks for an equal `once` call gets this one. */
  given(run: string, requestId: string): Promise<void>;
}

/** Where a call of a run is, and whether it was accepted before; or the answer where it must not be made. */
export type RunCall =
  | {
      readonly kind: 'call';
      readonly place: Place;
      readonly isAccepted: boolean;
      readonly traceparent: string;
    }
  | { readonly kind: 'answer'; readonly place: Place; readonly answer: CallToolResult };

export interface CalledInRun {
  readonly offer: Offer;
  /** As the client named the tool. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** null: the call belongs to no run. */
export async function runCall(
  client: Pick<DirectiveClient, 'directive' | 'request'>,
  runs: CallsOfRuns | null,
  { offer, name, arguments: args }: CalledInRun,
  context: ServerContext,
): Promise<RunCall | null> {
  const run = headerOf(context, RUN_HEADER);
  if (run === null || runs === null) return null;
  const tool = wholeName(offer);
  const isOnce = offer.server === null || offer.effect === 'once';
  const found = await runs.find({
    run,
    tool,
    names: [name, tool, offer.tool],
    arguments: args,
    isOnce,
    pass: headerOf(context, PASS_HEADER),
    allowsRepeat: headerOf(context, REPEAT_HEADER) === 'true',
    traceparent: traceparentOf(context),
  });
  const { requestId, traceparent, isOld } = found;
  if (offer.server === null) {
    const isAccepted = (await client.request(requestId)) !== null;
    return { kind: 'call', place: { requestId, id: '' }, isAccepted, traceparent };
  }
  const view = await client.directive(requestId, RUN_DIRECTIVE_ID);
  if (view === null && isOld && isOnce)
    return { kind: 'answer', place: { requestId, id: RUN_DIRECTIVE_ID }, answer: failure(notKept(tool)) };
  const isMadeAgain = view !== null && wasCancelled(view.result, isOnce);
  const current = isMadeAgain ? await found.again() : requestId;
  const isAccepted = view !== null && current === requestId;
  return { kind: 'call', place: { requestId: current, id: RUN_DIRECTIVE_ID }, isAccepted, traceparent };
}

export interface GivenParts {
  readonly tools: ToolSource;
  readonly runs: CallsOfRuns | null;
  readonly onError: (error: Error) => void;
}

/** Has the record of the run note that the answer of a `once` call was given, once its response is written: a process may die before that. */
export async function noteGiven(
  { tools, runs, onError }: GivenParts,
  { tool, ...place }: Place & { readonly tool: string },
  context: ServerContext,
): Promise<void> {
  const run = headerOf(context, RUN_HEADER);
  if (run === null || runs === null || !isOfRun(place)) return;
  const offer = await tools.find(tool).catch(() => undefined);
  if (offer !== undefined && offer.server !== null && offer.effect !== 'once') return;
  whenWritten(context, () => void runs.given(run, place.requestId).catch(onError));
}

/** Whether it was cancelled, a `once` call before it began. */
function wasCancelled(end: unknown, isOnce: boolean): boolean {
  const signal = end as Parameters<typeof isTerminalSignal>[0] | null;
  if (signal === null || !isTerminalSignal(signal) || !('result' in signal.data)) return false;
  const { result } = signal.data;
  if (result.ok || result.error.type !== 'cancelled') return false;
  return !isOnce || result.error.details?.['outcome'] !== 'unknown';
}

function notKept(tool: string) {
  return errorEnvelope(
    'outcome_unknown',
    `This run called ${tool} with these arguments before, and the record of the outcome is not kept any more. ` +
      'The call may have acted. Check its effect before you do anything that repeats it.',
  );
}
