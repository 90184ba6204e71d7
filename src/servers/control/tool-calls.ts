/** The answer of each tool, and the control directives that it carries.
 *  It must never have an effect: the run that made the call applies the directives. */
import type * as z from 'zod';
import type { ControlDirectiveInput } from '../../contract/run/control-directive.ts';
import {
  changeTodos,
  type Making,
  openOwn,
  present,
  readTodoList,
  todoText,
  type TodoChange,
  type TodoFields,
  type TodoList,
} from './todo-list.ts';
import type { ArgumentSchemas, ControlTool } from './tool-arguments.ts';

export type Answer =
  | { readonly ok: true; readonly result: string; readonly directives: readonly ControlDirectiveInput[] }
  | { readonly ok: false; readonly message: string };

/** Values of a call beside its arguments. */
export interface CallPlace extends Making {
  /** The present list of the run; undefined: the call does not have it. */
  readonly todos: unknown;
}

type Arguments<T extends ControlTool> = z.output<ArgumentSchemas[T]>;
type Calls = { readonly [T in ControlTool]: (args: Arguments<T>, place: CallPlace) => Answer };

const STOP: ControlDirectiveInput = { type: 'stop_processing' };

const CALLS: Calls = {
  todo_write: writeTodos,
  handoff,
  prune_context: ({ keep_recent }) =>
    answer('Prune requested.', { type: 'prune_messages', params: { keep_recent } }),
  delegate: ({ target, task, max_turns }) => {
    const params = { target, task, ...(max_turns === undefined ? {} : { max_turns }) };
    return answer(`Delegation requested to ${target}.`, { type: 'delegate', params }, STOP);
  },
  pipeline: ({ stages, task }) =>
    answer(
      `Pipeline requested: ${stages.join(' -> ')}`,
      { type: 'pipeline', params: { stages, task } },
      STOP,
    ),
  complete: (params) => answer('Completion requested.', { type: 'complete', params: defined(params) }, STOP),
  phase_change: ({ phase }) =>
    answer(`Phase change requested: ${phase}`, { type: 'phase_change', params: { phase } }),
};

export function callTool<T extends ControlTool>(tool: T, args: Arguments<T>, place: CallPlace): Answer {
  return CALLS[tool](args, place);
}

const UNKNOWN_LIST =
  'Error: the to-do list of the run did not come with the call. The service sends it, up to 40,000 characters, to a server ' +
  'whose entry has "context": "all" and "directives".';
const FOREIGN_LIST =
  'Error: another tool wrote the list, in its own form. Replace it with the action replace.';

function writeTodos(args: Arguments<'todo_write'>, place: CallPlace): Answer {
  const change = changeOf(args);
  if (typeof change === 'string') return failed(`Error: ${change}`);
  const list = change.action === 'replace' ? [] : listOf(place);
  if (typeof list === 'string') return failed(list);
  const changed = changeTodos(list, change, place);
  if (!changed.ok) return failed(changed.says);
  const { items, says } = changed;
  const params = { state: todoText(items), count: items.length, items: [...items] };
  return answer(says, { type: 'todo_state_changed', params });
}

/** A sentence: what is missing. */
function changeOf(args: Arguments<'todo_write'>): TodoChange | string {
  const { action, todos, index, ...fields } = args;
  if (action === 'replace' || action === 'add')
    return todos === undefined ? `${action} needs todos` : { action, todos };
  if (index === undefined) return `${action} needs index`;
  return action === 'update' ? { action, index, fields: fields as Partial<TodoFields> } : { action, index };
}

/** A sentence: why the list is not known. */
function listOf({ todos }: CallPlace): TodoList | string {
  if (todos === undefined) return UNKNOWN_LIST;
  return readTodoList(todos) ?? FOREIGN_LIST;
}

const NO_EXECUTION_TODOS =
  'No execution todos (with target_tier) found. Create todos with a target_tier before handing off.';

function handoff({ target_tier: tier, reason, task_state }: Arguments<'handoff'>, place: CallPlace): Answer {
  const list = listOf(place);
  if (typeof list === 'string') return failed(list);
  const items = present(list);
  if (items.length > 0 && items.every(({ target_tier }) => !target_tier)) return failed(NO_EXECUTION_TODOS);
  const open = openOwn(list);
  const warning = `[SYSTEM] Warning: ${open} self-directed todo(s) not yet completed. Proceeding with handoff.`;
  return answer(
    `Handoff requested to ${tier}. Reason: ${reason}`,
    ...(open > 0 ? [{ type: 'inject_context', params: { content: warning } } as const] : []),
    { type: 'clear_self_todos' },
    { type: 'tier_change', params: { tier, reason, task_state } },
    STOP,
  );
}

function answer(result: string, ...directives: readonly ControlDirectiveInput[]): Answer {
  return { ok: true, result, directives };
}

function failed(message: string): Answer {
  return { ok: false, message };
}

/** Without the members that the caller left out. */
function defined<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
