// Joins the runs that other programs lead with the store of a process.
// Must never know a wire of a model, nor a method of MCP.
import { closedMsOf } from '../contract/access/tenant-limits.ts';
import { requestField, scopedId } from '../contract/access/tenant.ts';
import { createRunService } from '../features/foreign-runs/run-service.ts';
import { createRunStore } from '../features/foreign-runs/run-store.ts';
import { createToolCalls } from '../features/foreign-runs/tool-calls.ts';
import { createTurns } from '../features/foreign-runs/turns.ts';
import type { SpendBudget } from '../http/access/key-budget.ts';
import type { Store } from './store.ts';

export interface ForeignRunsOptions {
  /** Takes runs and steps from the quota of their caller. */
  readonly spend: SpendBudget;
  readonly mustEncrypt: (tenant: string) => boolean;
  /** Receives lines of the log. */
  readonly warn: (fields: object, message: string) => void;
}

export function foreignRunsOf(
  { connection, keys, limitsOf, retentionMs, spans, records: { journal } }: Store,
  { spend, mustEncrypt, warn }: ForeignRunsOptions,
) {
  const keptMs = (tenant: string): number => closedMsOf(limitsOf, scopedId(tenant, ''), retentionMs);
  const store = createRunStore(connection, keys, keptMs, spend);
  return {
    calls: createRunService({ store, spend, mustEncrypt }),
    toolCalls: createToolCalls({ store, spans, keptMs }),
    turns: createTurns({
      store,
      spans,
      journal,
      onDiverged: (requestId, { turn, place, pass, run }) =>
        warn(
          { ...requestField(requestId), run, pass, turn, place },
          'The pass of a run has left its record and goes on as a branch',
        ),
    }),
  };
}
