// The gate between a strategy's requests and their execution: what starts now, what waits, what gets an error.
// Must never let a call start without a reservation, nor drop one without an answer.
import { directiveSchema } from '../../contract/directive/directive.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { fieldErrors, fieldSentence } from '../../contract/json/field-error.ts';
import { ID_PATTERN, INQUIRY_PATTERN, toolNameSchema } from '../../contract/identifiers.ts';
import type {
  EmbedCall,
  ModelCall,
  StrategyDirective,
  ToolCallDirective,
  WorkRequest,
} from '../strategies/strategy.ts';
import type { Transition } from '../turn/transition.ts';
import { askForBudget, holdForApproval } from './approvals.ts';
import { type Breach, allowedTokens, breachOf, countStart, endForBreach, hasTokenBudget } from './budget.ts';
import {
  embedDirective,
  errorDirective,
  modelDirective,
  recordedDirective,
  toolDirective,
} from './complete-directive.ts';
import { failRun } from './lifecycle.ts';
import { modelMessages } from './model-messages.ts';
import { accept, answerWithError, knownAs } from './open-calls.ts';
import { type OpenCall, type Run, without } from './run-state.ts';
import { estimateTokens, textTokens } from './token-estimate.ts';
import { approvalFor, forkedCall, noteRecorded } from './tool-policy.ts';
import { takeUnusable } from './unusable-calls.ts';

const WORK_TYPES: ReadonlySet<string> = new Set([
  'llm_stream',
  'llm_generate',
  'llm_embed',
  'tool_exec',
  'emit_tool_error',
  'emit_request_error',
]);

export function isWork(directive: StrategyDirective): directive is WorkRequest {
  return WORK_TYPES.has(directive.type);
}

/** Whether the id may name a new directive of the run; if not, the run fails. */
export function claimId(run: Run, id: unknown): id is string {
  if (typeof id !== 'string' || !ID_PATTERN.test(id)) {
    failRun(
      run,
      'strategy_error',
      `the strategy gave a directive the id ${JSON.stringify(id)?.slice(0, 200)}`,
    );
    return false;
  }
  if (INQUIRY_PATTERN.test(id)) {
    failRun(
      run,
      'strategy_error',
      `the id "${id}" of a directive is reserved for inquiries about lost calls`,
    );
    return false;
  }
  if (Object.hasOwn(run.state.used, id)) {
    failRun(run, 'strategy_error', `the strategy used the directive id "${id}" twice`);
    return false;
  }
  run.state.used = { ...run.state.used, [id]: 1 };
  return true;
}

/** Accepts what the strategy asks for; `release` starts it. */
export function admit(run: Run, request: WorkRequest): void {
  if (!claimId(run, request.id)) return;
  if (request.type === 'tool_exec') return admitTool(run, request);
  if (request.type === 'emit_tool_error') return send(run, errorDirective(run, request), openCallOf(request));
  if (request.type === 'emit_request_error') return send(run, errorDirective(run, request), null);
  run.state.waiting = [...run.state.waiting, request];
}

function admitTool(run: Run, call: ToolCallDirective): void {
  const name = call.tool_name;
  const unusable = takeUnusable(run, call);
  if (unusable !== null) return answerWithError(run, readable(call), unusable);
  switch (approvalFor(run, name)) {
    case 'unknown':
      return answerWithError(run, readable(call), errorEnvelope('unknown_tool', `Unknown tool: ${name}`));
    case 'deny':
      return answerWithError(run, call, errorEnvelope('denied', `Tool \`${name}\` is denied by policy`));
    case 'ask':
      return admitAllowed(run, call, true);
    case 'auto':
      return admitAllowed(run, call, false);
  }
}

/** `asks`: the agent's policy has a person decide about each call of it. What a record answers does not act, and needs no decision. */
function admitAllowed(run: Run, call: ToolCallDirective, asks: boolean): void {
  const forked = forkedCall(run, call);
  if (typeof forked === 'object') {
    noteRecorded(run, forked);
    return send(run, recordedDirective(run, call, forked), {
      type: 'emit_tool_result',
      name: call.tool_name,
    });
  }
  if (forked === 'missing') return endAtMissing(run, call);
  if (asks || forked === 'ask') return holdForApproval(run, call);
  run.state.waiting = [...run.state.waiting, call];
}

function endAtMissing(run: Run, { tool_name, id }: ToolCallDirective): void {
  const message = `The dry fork has no recorded result of this call of \`${tool_name}\`: no tool was called`;
  failRun(run, 'not_recorded', message, { tool_name, call_id: id });
}

/** A model may name a tool with something that is not a valid name. */
function readable({ id, tool_name }: ToolCallDirective): { id: string; tool_name: string } {
  return { id, tool_name: toolNameSchema.safeParse(tool_name).success ? tool_name : 'unknown' };
}

/** Starts what may start, in order. Tool calls above the limit wait; everything waits while a budget is being decided. */
export function releaseWaiting(run: Run): void {
  if (run.state.ended || run.state.question || run.state.waiting.length === 0) return;
  const kept: WorkRequest[] = [];
  let slots = run.agent.limits.parallel_tool_calls - openTools(run);
  for (const request of run.state.waiting) {
    const isTool = request.type === 'tool_exec';
    if (run.state.question !== null || (isTool && slots <= 0)) kept.push(request);
    else if (!tryStart(run, request)) kept.push(request);
    else if (isTool) slots -= 1;
    if (run.state.ended) return;
  }
  run.state.waiting = kept;
}

/** False when a budget forbids it. */
function tryStart(run: Run, request: WorkRequest): boolean {
  const inputTokens = hasTokenBudget(run) ? inputEstimate(run, request) : () => 0;
  const breach = breachOf(run, request, inputTokens);
  if (breach) {
    onBreach(run, breach);
    return false;
  }
  if (request.type === 'tool_exec') startTool(run, request);
  else if (request.type === 'llm_embed') startEmbed(run, request, inputTokens());
  else startModel(run, request as ModelCall);
  return true;
}

function startTool(run: Run, call: ToolCallDirective): void {
  countStart(run, call.type);
  send(run, toolDirective(run, call), openCallOf(call));
}

function startEmbed(run: Run, call: EmbedCall, tokens: number): void {
  send(run, embedDirective(run, call), { ...openCallOf(call), ...(tokens > 0 ? { tokens } : {}) });
}

function startModel(run: Run, call: ModelCall): void {
  countStart(run, call.type);
  const messages = modelMessages(run, call);
  const tokens = hasTokenBudget(run) ? estimateTokens(messages) + promptTokens(run) : 0;
  const maxTokens = allowedTokens(run, call, () => tokens);
  const reserved = hasTokenBudget(run) ? { tokens: tokens + maxTokens } : {};
  send(run, modelDirective(run, call, messages, maxTokens), { ...openCallOf(call), ...reserved });
}

function inputEstimate(run: Run, request: WorkRequest): () => number {
  if (request.type === 'llm_embed') return () => textTokens([request.texts].flat().join(''));
  const given = 'messages' in request ? request.messages : undefined;
  return () => estimateTokens(given ?? run.state.messages) + promptTokens(run);
}

function promptTokens(run: Run): number {
  return textTokens(run.agent.system_prompt);
}

function onBreach(run: Run, breach: Breach): void {
  if (run.agent.policies.budget === 'ask') askForBudget(run, breach);
  else endForBreach(run, breach);
}

/** Drops calls that are no longer needed; those under way continue. */
export function withdraw(run: Run, ids: readonly string[]): void {
  for (const known of ids) {
    // A call that was made again waits under another id.
    const id = run.state.waiting.find((request) => knownAs(run.state, request.id) === known)?.id ?? known;
    const waiting = run.state.waiting.find((request) => request.id === id);
    const held = Object.hasOwn(run.state.held, id) ? run.state.held[id] : undefined;
    const call = held?.call ?? waiting;
    if (!call) continue;
    run.state.waiting = run.state.waiting.filter((request) => request.id !== id);
    run.state.held = without(run.state.held, id);
    if (call.type === 'tool_exec') {
      answerWithError(run, call, errorEnvelope('cancelled', 'The call was not made: it is no longer needed'));
    }
  }
}

/** Directives of a user's strategy are checked like a caller's; those of built-in strategies are trusted. */
function send(run: Run, directive: Transition['directives'][number], call: OpenCall | null): void {
  const strategy = run.parts.strategies.get(run.agent.strategy);
  if (strategy && !run.parts.trusted.has(strategy)) {
    const parsed = directiveSchema.safeParse(directive);
    if (!parsed.success) {
      const faults = fieldErrors(parsed.error).map((fault) => fieldSentence(fault));
      return failRun(
        run,
        'strategy_error',
        `the directive "${directive.id}" is invalid: ${faults.join('; ')}`,
      );
    }
  }
  if (call) accept(run, directive, call);
  else run.directives.push(directive);
}

function openCallOf(request: WorkRequest): OpenCall {
  const { type } = request;
  if (type === 'emit_tool_error') return { type, name: request.tool_name };
  return 'tool_name' in request ? { type, name: request.tool_name, request } : { type, request };
}

function openTools(run: Run): number {
  let tools = 0;
  for (const call of Object.values(run.state.open)) if (call.type === 'tool_exec') tools += 1;
  return tools;
}
