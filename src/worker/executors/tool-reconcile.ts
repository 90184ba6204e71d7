// A call whose answer was lost: the doubt is kept, and a later attempt asks another tool of the same server what happened.
// Must never make the lost call itself, nor take a failure to ask for an answer.
import { hash } from 'node:crypto';
import { canonicalJson } from '../../contract/json/canonical-json.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { boundedText, jsonSafe } from '../../contract/json/json-safe.ts';
import { redactTexts } from '../../contract/json/redaction.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import {
  type Doubt,
  isSettled,
  isUncounted,
  newDoubt,
  nextLookMs,
  textOfDoubt,
} from '../../features/reconcile/doubt.ts';
import {
  type Finding,
  type LostCall,
  readableAnswer,
  type Reconcile,
} from '../../features/reconcile/reconcile.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Execution, ExecutionContext, TaskKeeping } from './definition.ts';

/** Characters of an answer that tells nothing, in the error. */
const SHOWN_CHARACTERS = 512;
const DIGEST_CHARACTERS = 22;

/** The answer of the tool that is asked. */
export type Answer =
  | { readonly kind: 'answer'; readonly payload: unknown }
  /** `reason`: a sentence without its end. */
  | { readonly kind: 'none'; readonly reason: string };

export interface Asking {
  readonly reconcile: Reconcile;
  readonly server: string;
  /** Bound of the content that a model reads of a result, characters. Default: that of the contract. */
  readonly contentCharacters: number | undefined;
  /** Calls the other tool. Never rejects. */
  ask(tool: string, args: Readonly<Record<string, unknown>>): Promise<Answer>;
}

/** The attempt whose answer was lost: the next one asks, unless the directive ends with this one. `isOnce`: asked where it matters. */
export async function keepingDoubt(
  { settings }: Reconcile,
  execution: Execution,
  { tasks, signal }: ExecutionContext,
  isOnce: () => Promise<boolean>,
): Promise<Execution> {
  const {
    result,
    ambiguous,
    resumable,
    forgotten: _forgotten,
    unwithdrawn: _unwithdrawn,
    ...others
  } = execution;
  if (result.ok || ambiguous !== true || resumable === true || tasks === undefined) return execution;
  const isStopped = signal.aborted;
  if ((isStopped && !tasks.goesOn()) || !(await isOnce())) return execution;
  const clock = tasks.clock();
  const doubt = newDoubt(isStopped ? 'stopped' : result.error.type, clock.now);
  const againMs = nextLookMs(doubt, settings, clock);
  if (againMs === null) return execution;
  await tasks.keep(textOfDoubt(doubt));
  return { ...others, result, ambiguous, resumable: true, againMs };
}

type Context = ExecutionContext & { readonly tasks: TaskKeeping };

/** An attempt that asks. `asking`: null = it is not configured any more. */
export async function reconciled(
  asking: Asking | null,
  doubt: Doubt,
  lost: LostCall,
  context: Context,
): Promise<Execution> {
  const { tasks } = context;
  const end = (facts: Partial<Asked>): Ending => ({ asking, lost, context, doubt, ...facts });
  if (asking === null) return unknownEnd(end({}), 'its settings are gone');
  const { settings } = asking.reconcile;
  if (doubt.asked >= settings.tries) return unknownEnd(end({}), 'workers died while they asked');
  const args = asking.reconcile.argumentsFor(lost);
  if (args === null) return unknownEnd(end({}), 'an argument of the call that it needs is absent');
  const begun = { ...doubt, asked: doubt.asked + 1 };
  // Counted before it is made, so that workers that die meanwhile do not ask without end.
  if (!(await tasks.keep(textOfDoubt(begun)))) return later(0);
  const answer = await asking.ask(settings.tool, args);
  const finding = findingOf(asking.reconcile, answer, lost);
  const ending = end({ doubt: begun, args, answer });
  if (finding.kind === 'happened') return happenedEnd(ending, finding);
  if (context.signal.aborted) return later(0);
  const clock = tasks.clock();
  // @guard settled-answer
  if (finding.kind === 'not_happened' && isSettled(begun, settings, clock.now)) return notHappened(ending);
  const againMs = nextLookMs(begun, settings, clock);
  if (againMs !== null) return later(againMs);
  return unknownEnd(ending, finding.kind === 'unknown' ? finding.reason : UNSETTLED);
}

const UNSETTLED = '"did not happen" came before settle_ms had passed';

function findingOf(reconcile: Reconcile, answer: Answer, lost: LostCall): Finding {
  if (answer.kind === 'none') return { kind: 'unknown', reason: answer.reason };
  return reconcile.findingIn(readableAnswer(answer.payload), lost);
}

/** The end of the call stays unknown: the next attempt asks. */
function later(againMs: number): Execution {
  const error = errorEnvelope('network', 'the call may or may not have happened');
  return { result: errorResult(error), ambiguous: true, resumable: true, againMs };
}

interface Asked {
  readonly doubt: Doubt;
  readonly args: Readonly<Record<string, unknown>>;
  readonly answer: Answer;
}

interface Ending extends Partial<Asked> {
  readonly asking: Asking | null;
  readonly lost: LostCall;
  readonly context: Context;
  readonly doubt: Doubt;
}

/** Facts of the question: which tool, with what, how often, when, why. */
function proofOf({ asking, context, doubt: { asked, cause }, args }: Ending) {
  const tool = asking === null ? null : `${asking.server}.${asking.reconcile.settings.tool}`;
  const digest = args && hash('sha256', canonicalJson(args), 'base64url').slice(0, DIGEST_CHARACTERS);
  const at = new Date(context.tasks.clock().now).toISOString();
  return { tool, ...(digest === undefined ? {} : { arguments_digest: digest }), asked, at, cause };
}

/** Reports the finding; returns what each end says beside its result. */
function told(ending: Ending, outcome: 'happened' | 'not_happened' | 'unknown', reason?: string) {
  const proof = { ...proofOf(ending), ...(reason === undefined ? {} : { reason }) };
  const { lost, context } = ending;
  context.report('directive.reconciled', { call_id: lost.id, outcome, ...proof, metadata: {} });
  const span = { [ATTRIBUTE.reconcileTool]: proof.tool ?? undefined, [ATTRIBUTE.reconcileOutcome]: outcome };
  return { proof, span };
}

function happenedEnd(ending: Ending, finding: Extract<Finding, { kind: 'happened' }>): Execution {
  const { asking, answer } = ending;
  const found = answer?.kind === 'answer' ? answer.payload : null;
  const result = okResult('result' in finding ? finding.result : found);
  const { proof, span } = told(ending, 'happened');
  const content = toolContent(result, asking?.contentCharacters);
  return { result, content, metadata: { reconciled: true, reconcile: proof }, span };
}

/** It may be made again, as a call that may be repeated. */
function notHappened(ending: Ending): Execution {
  const { cause, asked } = ending.doubt;
  const { proof, span } = told(ending, 'not_happened');
  const message = `the call did not happen: ${proof.tool ?? ''} was asked ${asked}× after ${cause}`;
  const error = errorEnvelope(cause, message, { outcome: 'not_happened', reconcile: proof });
  const unmade = isUncounted(ending.doubt) ? { unmade: true as const } : {};
  return { result: errorResult(error), ...unmade, span };
}

function unknownEnd(ending: Ending, reason: string): Execution {
  const { proof, span } = told(ending, 'unknown', reason);
  const { answer, doubt } = ending;
  const shown = answer?.kind === 'answer' ? { answer: shownAnswer(answer.payload) } : {};
  const asked = proof.tool === null ? 'no tool' : `${proof.tool}, asked ${doubt.asked}×,`;
  const message = `the call may or may not have happened: ${asked} did not tell: ${reason}`;
  const details = { outcome: 'unknown', reconcile: { ...proof, ...shown } };
  return { result: errorResult(errorEnvelope('outcome_unknown', message, details)), ambiguous: true, span };
}

function shownAnswer(payload: unknown): string {
  const safe = redactTexts(jsonSafe(readableAnswer(payload)));
  return boundedText(typeof safe === 'string' ? safe : JSON.stringify(safe), SHOWN_CHARACTERS);
}
