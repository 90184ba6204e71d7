// A run that goes on after its end: what the end interrupted is restored, and the failed step is made again.
// Never makes a call again that has succeeded, nor one of unknown outcome without a decision.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import { ID_PATTERN } from '../../contract/identifiers.ts';
import { errorResult, type Result } from '../../contract/result.ts';
import { hash } from 'node:crypto';
import type { RunOverrides, UnknownDecision } from '../../contract/run/run.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import type { StrategySignal, WorkRequest } from '../strategies/strategy.ts';
import type { RunDocument } from '../turn/transition.ts';
import { holdForApproval } from './approvals.ts';
import { isModelType } from './budget.ts';
import { noteExit } from './children.ts';
import { isUnknown } from './interruption.ts';
import { failRun, isAlive } from './lifecycle.ts';
import { emitSignal, type Interrupted, type OpenCall, type Run, stateOf, without } from './run-state.ts';
import { knownAs } from './open-calls.ts';
import { step } from './step.ts';

type Resumed = Extract<StrategySignal, { type: 'ai.request.resumed' }>['data'];
type Answer = Extract<
  StrategySignal,
  { type: 'ai.llm.response' | 'ai.tool.result' | 'ai.embed.result' | 'directive.result' }
>;

/** The document of the ended run with the changes of its resume, which its limits and its model then follow. */
export function withChanges(document: RunDocument, { overrides = {} }: Resumed): RunDocument {
  const state = stateOf(document);
  const before = state.changes ?? {};
  const limits = { ...before.limits, ...overrides.limits };
  // One of them names the model.
  const { model: _model, model_alias: _alias, ...others } = before;
  const kept = overrides.model === undefined && overrides.model_alias === undefined ? before : others;
  const changes = { ...kept, ...overrides, limits } as RunOverrides;
  return { ...document, inner: { ...document.inner, changes } };
}

/** The run is as it was before its end, with a new deadline. The answers of its open calls follow as signals. */
export function resume(run: Run, data: Resumed, refusal: { reason: string; message: string } | null): void {
  const { state } = run;
  const { left } = state;
  if (!left) return;
  restore(run, left, data.decisions ?? {});
  if (refusal !== null) {
    failRun(run, refusal.reason, refusal.message);
    // The history of its conversation is another run's now.
    run.outbox = run.outbox.map((entry) =>
      entry.kind === 'end_conversation' ? { ...entry, messages: null } : entry,
    );
    return;
  }
  for (const { call } of Object.values(left.held)) holdForApproval(run, call);
  endChildren(run);
  if (state.ended || data.input === undefined) return;
  const input = { id: data.input.input_id, content: data.input.content };
  state.inputs = [...state.inputs, input];
  if (state.awaits_input)
    step(run, { type: 'ai.request.input', data: { request_id: run.spec.request_id, ...data.input } });
}

function restore(run: Run, left: Interrupted, decisions: Readonly<Record<string, UnknownDecision>>): void {
  const { state } = run;
  const { messages, open, failed, signal: _signal, ...same } = left;
  Object.assign(state, same, { held: {}, open });
  state.messages = [...state.messages.slice(0, messages.kept), ...messages.rest];
  state.reopened = Object.fromEntries(
    Object.keys(open).map((id) => [
      id,
      { decision: ownMember(decisions, id) ?? null, isFailed: id === failed },
    ]),
  );
  state.resumed = (state.resumed ?? 0) + 1;
  state.left = null;
  state.ended = null;
  state.result = null;
  state.details = undefined;
  state.error = null;
  state.termination_reason = null;
  state.unread_inputs = [];
  state.question = null;
  state.deadline_at = run.now + run.agent.limits.deadline_ms;
}

/** The end of the run was the end of its children, or they were left alone: no signal of them follows. */
function endChildren(run: Run): void {
  for (const { tag, request_id, status } of run.state.children) {
    if (!isAlive(status) || !noteExit(run, request_id, 'cancelled')) continue;
    const error = errorEnvelope('cancelled', 'The child was given up as its parent ended');
    const data = {
      tag,
      child_request_id: request_id,
      status: 'cancelled',
      result: null,
      error,
      metadata: {},
    };
    emitSignal(run, { type: 'agent.child.exit', data });
    step(run, { type: 'agent.child.exit', data });
  }
}

/** The answer as the strategy reads it, under the id that it knows; null: the call is made again. */
export function answerOf(
  run: Run,
  call: OpenCall,
  signal: Answer,
): { signal: Answer; isCounted: boolean } | null {
  const id = signal.data.call_id;
  const reopened = ownMember(run.state.reopened ?? {}, id);
  if (reopened === undefined) return { signal: renamed(run, signal), isCounted: true };
  run.state.reopened = without(run.state.reopened ?? {}, id);
  const { decision, isFailed } = reopened;
  if (mustRepeat(call, signal, reopened) && repeat(run, id, call)) return null;
  const settled = decision === null || decision.action === 'repeat' ? signal : settledBy(signal, decision);
  return { signal: renamed(run, settled), isCounted: !isFailed };
}

function mustRepeat(
  call: OpenCall,
  { data: { result } }: Answer,
  { decision, isFailed }: { decision: UnknownDecision | null; isFailed: boolean },
): boolean {
  if (isModelType(call.type)) return isFailed || !result.ok;
  if (result.ok) return false;
  if (isUnknown(result)) return decision?.action === 'repeat';
  return isFailed || result.error.type === 'cancelled';
}

/** Under a new id: that of the failed call stays as it is in the log. False: what it asked for is not known. */
function repeat(run: Run, id: string, { request }: OpenCall): boolean {
  if (request === undefined) return false;
  const { state } = run;
  const known = knownAs(state, id);
  const anew = newId(known, state.resumed ?? 1);
  state.used = { ...state.used, [anew]: 1 };
  state.aliases = { ...state.aliases, [anew]: known };
  state.waiting = [...state.waiting, { ...request, id: anew } as WorkRequest];
  return true;
}

function newId(id: string, nth: number): string {
  const plain = `${id}.resume-${nth}`;
  return ID_PATTERN.test(plain) ? plain : `resume-${nth}-${hash('sha256', id, 'hex').slice(0, 40)}`;
}

function renamed(run: Run, signal: Answer): Answer {
  const id = knownAs(run.state, signal.data.call_id);
  return id === signal.data.call_id
    ? signal
    : ({ ...signal, data: { ...signal.data, call_id: id } } as Answer);
}

/** A person has decided about a call of unknown outcome, as the resume in the log says. */
function settledBy(signal: Answer, decision: Exclude<UnknownDecision, { action: 'repeat' }>): Answer {
  const result: Result =
    decision.action === 'skip'
      ? errorResult(
          errorEnvelope(
            'skipped',
            'The outcome of this call is unknown; a person decided to go on without it',
          ),
        )
      : { ok: true, payload: decision.result ?? null, effects: [] };
  const content = isObject(signal.data) && 'content' in signal.data ? { content: toolContent(result) } : {};
  return { ...signal, data: { ...signal.data, result, ...content } } as Answer;
}
