// The state that the ReAct machine stores between signals. Never holds what the run itself stores: history, usage, open
// calls.
import * as z from 'zod';
import type { ToolCall } from '../../contract/model/message.ts';
import type { Delegation } from '../core/control/control-context.ts';
import type { StrategyContext } from './strategy.ts';
import type { Streak } from './duplicate-calls.ts';

export const reactOptionsSchema = z.strictObject({
  /** Tolerated identical tool calls in a row: the last one brings a warning, the next one ends the run. 0 = any number. */
  duplicate_calls: z.int().min(0).default(3),
  /** Calls of a round begin one after the other, each after the answer of the one before. Default: all at once. */
  calls_in_order: z.boolean().default(false),
  /** Text that the model reads in a phase, by its name, for tools that send `phase_change`. Default: no phases. */
  phases: z.record(z.string().min(1).max(100), z.string().max(10_000)).default({}),
});

export type ReactOptions = z.infer<typeof reactOptionsSchema>;
export type ReactContext = StrategyContext<ReactOptions>;

/** A tool call of the round under way; `content` is null until it is answered. */
export interface RoundCall {
  /** Id of the directive. */
  id: string;
  /** The model's own id of the call, used in the history. */
  call_id: string;
  name: string;
  content: string | null;
  is_error: boolean;
  controls: readonly unknown[];
  /** Later calls of the round wait for the answer of this one. */
  holds?: boolean;
  /** Set until the call begins: what the model requested. */
  held?: ToolCall;
}

/** A delegation under way: how many stages have ended, and the output of the last one. */
export interface OpenDelegation extends Delegation {
  done: number;
  output: string | null;
}

export interface ReactState {
  status: 'idle' | 'awaiting_llm' | 'awaiting_tool' | 'awaiting_child' | 'completed' | 'error';
  /** Model calls so far. */
  iteration: number;
  /** The model call under way repeats one that was refused as too long. */
  shortened?: boolean;
  calls: readonly RoundCall[];
  streak: Streak | null;
  /** Answers in a row with a call whose arguments cannot be used. Absent: none. */
  unreadable?: number;
  /** The tool about which the model gets a warning after this round. */
  warn: string | null;
  /** A tool's `tier_change`; null = the agent's own model. */
  model_alias: string | null;
  /** The to-do items, as their tool last sent them. Absent: none. */
  todos?: unknown;
  /** A tool's `phase_change`; null or absent = none yet. */
  phase?: string | null;
  /** Only the first one is under way. */
  delegations: readonly OpenDelegation[];
}

export const IDLE: ReactState = {
  status: 'idle',
  iteration: 0,
  calls: [],
  streak: null,
  warn: null,
  model_alias: null,
  delegations: [],
};
