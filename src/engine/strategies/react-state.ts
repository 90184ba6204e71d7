// What the ReAct machine remembers between signals.
// Must never hold what the run itself remembers: history, usage, open calls.
import * as z from 'zod';
import type { ToolCall } from '../../contract/message.ts';
import type { Delegation } from '../core/control/control-context.ts';
import type { StrategyContext } from './strategy.ts';
import type { Streak } from './duplicate-calls.ts';

export const reactOptionsSchema = z.strictObject({
  /** Identical tool calls in a row that are tolerated: at the last the model is warned, the next ends the run. 0 = any. */
  duplicate_calls: z.int().min(0).default(3),
  /** Calls of a round begin one after the other, each when the one before it has its answer. Default: all at once. */
  calls_in_order: z.boolean().default(false),
});

export type ReactOptions = z.infer<typeof reactOptionsSchema>;
export type ReactContext = StrategyContext<ReactOptions>;

/** A tool call of the round under way; `content` is null until it is answered. */
export interface RoundCall {
  /** Of the directive. */
  id: string;
  /** The model's own id of the call: the history speaks of it. */
  call_id: string;
  name: string;
  content: string | null;
  is_error: boolean;
  controls: readonly unknown[];
  /** Later calls of the round do not begin before this one has its answer. */
  holds?: boolean;
  /** It has not begun, and this is what the model asked for. */
  held?: ToolCall;
}

/** A delegation under way: its stages that have ended, and what the last of them said. */
export interface OpenDelegation extends Delegation {
  done: number;
  output: string | null;
}

export interface ReactState {
  status: 'idle' | 'awaiting_llm' | 'awaiting_tool' | 'awaiting_child' | 'completed' | 'error';
  /** Model calls so far. */
  iteration: number;
  calls: readonly RoundCall[];
  streak: Streak | null;
  /** Name of the tool about which the model is warned after this round. */
  warn: string | null;
  /** A tool's `tier_change`; null = the agent's own model. */
  model_alias: string | null;
  /** Items of the list of things to do, as the tool that keeps it last sent them. Absent in states of older versions. */
  todos?: unknown;
  /** The first is under way. */
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
