/** The promise about budgets: what models have taken, by their own log, is counted.
 *  It must never read what the service has reserved, nor count a call that its provider refused. */
import type { ToolExecution } from './executions.ts';
import type { WireBudgets } from './wire.ts';

/** What the provider answers with an error takes nothing. */
const REFUSED: ReadonlySet<string> = new Set(['error', 'limit', 'unoffered']);

/** `log`: all that providers have counted. */
export function budgetViolationsOf(
  { budgets }: WireBudgets,
  name: string,
  log: readonly ToolExecution[],
): string[] {
  const calls = log.filter(({ tokens, fault }) => tokens !== undefined && !REFUSED.has(fault ?? ''));
  const taken = calls.reduce((sum, { tokens = 0 }) => sum + tokens, 0);
  const used = budgets.find((each) => each.name === name)?.tokens.used ?? 0;
  if (used >= taken) return [];
  return [`the budget has counted ${used} tokens, ${calls.length} calls have taken ${taken}`];
}
