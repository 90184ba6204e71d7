/** A to-do list and its four changes, as pure functions.
 *  It must never keep a list: it comes with each call, and goes back with the answer. */
import * as z from 'zod';
import { isObject, ownMember } from '../../contract/json/json-object.ts';

export const STATUSES = ['pending', 'in_progress', 'completed'] as const;

const MOST_ITEMS = 200;
const MOST_BYTES = 32_768;
const SHOWN_CHARACTERS = 50;

const itemSchema = z.object({
  id: z.string(),
  content: z.string(),
  active_form: z.string(),
  status: z.enum(STATUSES),
  /** The tier that the item is for; absent = the agent itself. */
  target_tier: z.string().optional(),
  created_at: z.string(),
  completed_at: z.string().nullable(),
});

export type TodoItem = z.infer<typeof itemSchema>;

/** null: an item that was taken out, whose place stays until the next change so that no number changes. */
export type TodoList = readonly (TodoItem | null)[];

/** The fields of an item that a caller gives. */
export interface TodoFields {
  readonly content: string;
  readonly active_form: string;
  readonly status: TodoItem['status'];
  readonly target_tier?: string | undefined;
}

export type TodoChange =
  | { readonly action: 'add' | 'replace'; readonly todos: readonly TodoFields[] }
  | { readonly action: 'update'; readonly index: number; readonly fields: Partial<TodoFields> }
  | { readonly action: 'remove'; readonly index: number };

/** Values that a change needs beside the list. */
export interface Making {
  /** ISO 8601. */
  readonly nowAt: string;
  /** The id of the nth item that this call makes. */
  newId(nth: number): string;
}

export type Changed =
  | { readonly ok: true; readonly items: readonly TodoItem[]; readonly says: string }
  | { readonly ok: false; readonly says: string };

/** The list of a run; null: it was written by another tool, in another form. */
export function readTodoList(todos: unknown): TodoList | null {
  if (todos === null || todos === undefined) return [];
  const items = isObject(todos) ? ownMember(todos, 'items') : todos;
  const parsed = z.array(itemSchema.nullable()).max(MOST_ITEMS).safeParse(items);
  return parsed.success ? parsed.data : null;
}

export function present(list: TodoList): TodoItem[] {
  return list.filter((item) => item !== null);
}

export function changeTodos(list: TodoList, change: TodoChange, making: Making): Changed {
  const changed = applied(list, change, making);
  if (!changed.ok) return changed;
  const fault = faultOf(changed.items);
  return fault === null ? changed : refused(fault);
}

function applied(list: TodoList, change: TodoChange, making: Making): Changed {
  switch (change.action) {
    case 'add':
      return added(present(list), change.todos, making);
    case 'replace': {
      const items = made(change.todos, making);
      return { ok: true, items, says: `Todo list replaced: ${progressOf(items)} completed` };
    }
    case 'update':
    case 'remove':
      return changedAt(list, change, making);
  }
}

function added(list: TodoItem[], todos: readonly TodoFields[], making: Making): Changed {
  if (todos.length === 0) return refused('add needs todos');
  const items = [...list, ...made(todos, making)];
  return { ok: true, items, says: `Added ${todos.length} item(s). Total: ${items.length}` };
}

function changedAt(
  list: TodoList,
  change: Extract<TodoChange, { index: number }>,
  { nowAt }: Making,
): Changed {
  const { index } = change;
  const item = list[index];
  if (item === undefined || item === null) return refused(`there is no item ${index}`);
  const short = item.content.slice(0, SHOWN_CHARACTERS);
  if (change.action === 'remove')
    return { ok: true, items: present(list.toSpliced(index, 1)), says: `Removed item ${index}: ${short}` };
  const updated = withFields(item, change.fields, nowAt);
  const says = `Updated item ${index}: ${updated.content.slice(0, SHOWN_CHARACTERS)}`;
  return { ok: true, items: present(list.with(index, updated)), says };
}

function made(todos: readonly TodoFields[], { nowAt, newId }: Making): TodoItem[] {
  return todos.map(({ content, active_form, status, target_tier }, nth) => ({
    id: newId(nth),
    content,
    active_form,
    status,
    ...(target_tier === undefined ? {} : { target_tier }),
    created_at: nowAt,
    completed_at: status === 'completed' ? nowAt : null,
  }));
}

function withFields(item: TodoItem, fields: Partial<TodoFields>, nowAt: string): TodoItem {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const next: TodoItem = { ...item, ...given };
  if (next.status === item.status) return next;
  return { ...next, completed_at: next.status === 'completed' ? nowAt : null };
}

function faultOf(items: readonly TodoItem[]): string | null {
  if (items.length > MOST_ITEMS) return `at most ${MOST_ITEMS} items, this would make ${items.length}`;
  const bytes = Buffer.byteLength(JSON.stringify(items));
  if (bytes > MOST_BYTES) return `at most ${MOST_BYTES} bytes of items, this would make ${bytes}`;
  const active = items.flatMap(({ status }, index) => (status === 'in_progress' ? [index] : []));
  return active.length > 1 ? `only one item may be in_progress, these would be: ${active.join(', ')}` : null;
}

function refused(fault: string): Changed {
  return { ok: false, says: `Error: ${fault}` };
}

/** Items of the agent itself that are not completed. */
export function openOwn(list: TodoList): number {
  return present(list).filter(({ target_tier, status }) => !target_tier && status !== 'completed').length;
}

const ICONS = { pending: '[ ]', in_progress: '[>]', completed: '[x]' } as const;

interface Numbered {
  readonly index: number;
  readonly item: TodoItem;
}

/** As the model reads the list in each call; '' when it is empty. */
export function todoText(items: readonly TodoItem[]): string {
  if (items.length === 0) return '';
  const lines = items.map((item, index) => ({ index, item }));
  const isGrouped = items.some(({ target_tier }) => target_tier);
  return [
    '[CURRENT TODO STATE]',
    ...(isGrouped ? grouped(lines) : lines.map((line) => `  ${lineOf(line)}`)),
    `Progress: ${progressOf(items)} completed`,
    '[END TODO STATE]',
  ].join('\n');
}

/** Tiers by name, then the agent's own. */
function grouped(lines: readonly Numbered[]): string[] {
  const byTier = Map.groupBy(lines, ({ item }) => item.target_tier ?? '');
  const tiers = [...byTier.keys()].filter((tier) => tier !== '').toSorted();
  const own = byTier.get('') ?? [];
  return [
    ...tiers.flatMap((tier) => [`  For ${tier} tier:`, ...indented(byTier.get(tier) ?? [])]),
    ...(own.length === 0 ? [] : ['  For self:', ...indented(own)]),
  ];
}

function indented(lines: readonly Numbered[]): string[] {
  return lines.map((line) => `    ${lineOf(line)}`);
}

function lineOf({ index, item }: Numbered): string {
  return `[${index}] ${ICONS[item.status]} ${item.content}`;
}

function progressOf(items: readonly TodoItem[]): string {
  return `${items.filter(({ status }) => status === 'completed').length}/${items.length}`;
}
