// Approvals of tool calls and of more budget: requested, granted, denied, expired.
// Must never apply a decision twice, nor one about something that does not wait.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { redact } from '../../contract/json/redaction.ts';
import type { StrategySignal, ToolCallDirective } from '../strategies/strategy.ts';
import { type Breach, endForBreach, grant } from './budget.ts';
import { failRun } from './lifecycle.ts';
import { answerWithError } from './open-calls.ts';
import { type BudgetQuestion, count, emitSignal, type HeldCall, type Run, without } from './run-state.ts';

type Decision = Extract<StrategySignal, { type: 'ai.tool.approval_decided' }>['data'];

/** The call waits for a decision until its deadline. */
export function holdForApproval(run: Run, call: ToolCallDirective): void {
  const deadlineAt = run.now + run.agent.policies.approval_timeout_ms;
  run.state.held = { ...run.state.held, [call.id]: { call, deadline_at: deadlineAt } };
  emitSignal(run, {
    type: 'ai.tool.approval_requested',
    data: {
      call_id: call.id,
      tool_name: call.tool_name,
      arguments: redact(jsonSafe(call.arguments ?? {})),
      deadline_at: new Date(deadlineAt).toISOString(),
      metadata: { run_id: run.spec.run_id, agent: run.spec.agent },
    },
  });
}

/** Nothing starts until the budget is decided. */
export function askForBudget(run: Run, breach: Breach): void {
  const deadlineAt = run.now + run.agent.policies.approval_timeout_ms;
  const id = `budget-${count(run, 'named')}`;
  run.state.question = { id, limit: breach.limit, message: breach.message, deadline_at: deadlineAt };
  emitSignal(run, {
    type: 'ai.tool.approval_requested',
    data: {
      call_id: id,
      tool_name: `budget.${breach.limit}`,
      arguments: { limit: breach.allowed, used: breach.used },
      reason: breach.message,
      deadline_at: new Date(deadlineAt).toISOString(),
      metadata: { run_id: run.spec.run_id, agent: run.spec.agent, budget: breach.limit },
    },
  });
}

export function decide(run: Run, decision: Decision): void {
  const { held, question } = run.state;
  if (question?.id === decision.call_id) return decideBudget(run, question, decision);
  const waiting = Object.hasOwn(held, decision.call_id) ? held[decision.call_id] : undefined;
  if (waiting) return decideCall(run, waiting, decision);
  count(run, 'late_decisions');
}

function decideCall(run: Run, { call }: HeldCall, decision: Decision): void {
  run.state.held = without(run.state.held, call.id);
  if (decision.decision === 'approve') {
    run.state.waiting = [...run.state.waiting, approved(call, decision)];
    return;
  }
  const why = decision.reason === undefined || decision.reason === '' ? '' : `: ${decision.reason}`;
  const message = `Tool \`${call.tool_name}\` was denied${why}`;
  answerWithError(run, call, errorEnvelope('denied', message, { tool_name: call.tool_name }));
}

function approved(call: ToolCallDirective, { arguments: edited }: Decision): ToolCallDirective {
  if (edited === undefined) return call;
  return { ...call, arguments: edited, metadata: { ...call.metadata, arguments_edited: true } };
}

function decideBudget(run: Run, question: BudgetQuestion, decision: Decision): void {
  run.state.question = null;
  if (decision.decision === 'approve') return grant(run, question.limit);
  endForBreach(run, question);
}

/** A run in which no one decided in time has failed: neither a denial nor an answer would say what happened. */
export function expireApprovals(run: Run): void {
  const { question, held } = run.state;
  if (question && question.deadline_at <= run.now)
    return endUndecided(run, question.id, `going on beyond ${question.limit}`);
  const expired = Object.values(held).find(({ deadline_at }) => deadline_at <= run.now);
  if (expired) endUndecided(run, expired.call.id, `the call of \`${expired.call.tool_name}\``);
}

function endUndecided(run: Run, callId: string, what: string): void {
  const timeoutMs = run.agent.policies.approval_timeout_ms;
  const message = `No one decided about ${what} within ${timeoutMs} ms`;
  failRun(run, 'approval_expired', message, { call_id: callId, approval_timeout_ms: timeoutMs });
}
