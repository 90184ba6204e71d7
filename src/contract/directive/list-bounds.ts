// How many members the lists of a directive or a run may have: counted before a schema reads each of them, which takes long.
// Must never count what is free JSON (arguments, metadata, schemas): that is bounded by its bytes.
import { fieldPath } from '../json/field-path.ts';
import type { FieldError } from '../problem.ts';

/** Maximum number of members of one list, parts and tool calls of its messages included. */
export const MOST_MEMBERS = 10_000;

const LISTS = ['context', 'messages', 'texts', 'tools'];

/** As `crowdedList`, of any directive: what a tool gets is free JSON. */
export function crowdedDirective(
  directive: Readonly<Record<string, unknown>>,
  prefix = '',
): FieldError | null {
  return String(directive['type']).startsWith('llm_') ? crowdedList(directive, prefix) : null;
}

/** The first list of a directive for a model, or of a run, that is too long; null: none is. `prefix`: the path of `body`. */
export function crowdedList(body: Readonly<Record<string, unknown>>, prefix = ''): FieldError | null {
  const name = LISTS.find((each) => membersIn(body[each]) > MOST_MEMBERS);
  if (name === undefined) return null;
  const message = `must hold at most ${MOST_MEMBERS} members, their parts and tool calls among them`;
  return { path: fieldPath([name], prefix), message };
}

/** Number of members of a list, or of the `messages` of an object; counted up to the limit. */
function membersIn(given: unknown): number {
  const list = Array.isArray(given) ? (given as unknown[]) : memberOf(given, 'messages');
  if (!Array.isArray(list)) return 0;
  let count = list.length;
  for (const each of list) {
    if (count > MOST_MEMBERS) break;
    count += lengthOf(memberOf(each, 'content')) + lengthOf(memberOf(each, 'tool_calls'));
  }
  return count;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
