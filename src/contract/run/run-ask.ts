// A question of a run to a person: a call that it holds for approval, or more budget. Never holds what is redacted in
// the log of the run.

/** Instants are milliseconds since the epoch, by the clock of Redis. */
export interface RunAsk {
  kind: 'approval' | 'budget';
  id: string;
  tool: string;
  /** JSON; null: of a budget. */
  arguments: string | null;
  message: string | null;
  since: number;
  deadlineAt: number;
}
