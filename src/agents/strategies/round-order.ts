// Decides when the calls of a round begin: at once, or after the answer of an earlier call that may stop the round.
// Must never begin a call that a pending answer could still drop, nor leave one without an answer.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import type { ReactContext, RoundCall } from './react-state.ts';
import type { JsonObject } from '../turn/transition.ts';
import { answerCall, type StrategyDirective } from './strategy.ts';

/** The updated calls, and the directives of those that have just begun. */
export interface Begun {
  calls: readonly RoundCall[];
  directives: readonly StrategyDirective[];
}

/** Whether later calls of a round wait for the answer of a call of this tool. */
export function holdsBack(toolName: string, { options, tools }: ReactContext): boolean {
  return options.calls_in_order || tools.some((tool) => tool.name === toolName && mayChangeRound(tool));
}

/** Its server may drop the later calls, or change the to-do list that they read. */
function mayChangeRound({ directives = [] }: ListedTool): boolean {
  return directives === 'all' || CHANGING.some((type) => directives.includes(type));
}

const CHANGING = ['stop_processing', 'todo_state_changed'];

/** The part of the run's state that a tool gets beside the snapshot; null: nothing. */
export type StateOf = (toolName: string) => JsonObject | null;

/** Begins every call that no earlier one blocks. */
export function beginCalls(calls: readonly RoundCall[], stateOf: StateOf): Begun {
  const directives: StrategyDirective[] = [];
  let isBlocked = false;
  const next = calls.map((call) => {
    if (isBlocked) return call;
    isBlocked = call.holds === true && call.content === null;
    if (call.held === undefined) return call;
    const state = stateOf(call.name);
    directives.push(answerCall(call.id, call.held, state === null ? {} : { state }));
    return begun(call);
  });
  return { calls: next, directives };
}

/** Answers every call that has not begun with an error. */
export function dropCalls(calls: readonly RoundCall[]): Begun {
  const error = errorEnvelope('cancelled', 'The call was not made: a tool stopped the round before it began');
  const directives = calls.flatMap(({ id, name, held }): StrategyDirective[] =>
    held === undefined ? [] : [{ type: 'emit_tool_error', id, tool_name: name, error }],
  );
  return { calls: calls.map(begun), directives };
}

function begun({ held: _held, ...call }: RoundCall): RoundCall {
  return call;
}
