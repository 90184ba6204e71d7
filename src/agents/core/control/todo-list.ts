// The to-do list that a tool keeps: which items are the agent's own, and the list as its anchor shows it.
// Must never renumber an item: the tool refers to items by number.

/** The anchor that shows the list, and the notice that carries its items. */
export const TODO_ANCHOR = 'todo_state';
export const TODO_NOTICE = 'todo_update';

type Item = Readonly<Record<string, unknown>>;

/** A member of the list, with its number. */
interface Numbered {
  index: number;
  item: Item;
}

/** The items of `[…]` or `{items: […]}`; null when it is neither. */
function itemsOf(todos: unknown): readonly unknown[] | null {
  const list: unknown = Array.isArray(todos) ? todos : (Object(todos) as { items?: unknown }).items;
  return Array.isArray(list) ? (list as unknown[]) : null;
}

/** Whether one of the known items is the agent's own. */
export function hasOwnItems(todos: unknown): boolean {
  return itemsOf(todos)?.some((item) => item !== null && !isTargeted(item)) ?? true;
}

/** The list with null in place of the agent's own items: the numbers of the others stay. */
export function withEmptyPlaces(todos: unknown): unknown[] {
  return (itemsOf(todos) ?? []).map((item) => (isTargeted(item) ? item : null));
}

/** The items for others (`target_tier`), each with its number; null when the items are unknown. */
export function targetedItems(todos: unknown): readonly Numbered[] | null {
  const items = itemsOf(todos);
  if (items === null) return null;
  return items.flatMap((item, index) => (isTargeted(item) ? [{ index, item }] : []));
}

function isTargeted(item: unknown): item is Item {
  const target = (Object(item) as Item)['target_tier'];
  return typeof target === 'string' && target !== '';
}

const ICONS: ReadonlyMap<unknown, string> = new Map([
  ['in_progress', '[>]'],
  ['completed', '[x]'],
]);

/** As the anchor shows them: grouped by tier. '' when there are none. */
export function todoText(items: readonly Numbered[]): string {
  if (items.length === 0) return '';
  const byTier = [...Map.groupBy(items, ({ item }) => String(item['target_tier']))];
  const groups = byTier.sort(([left], [right]) => (left < right ? -1 : 1));
  const done = items.filter(({ item }) => item['status'] === 'completed').length;
  return [
    '[CURRENT TODO STATE]',
    ...groups.flatMap(([tier, members]) => [`  For ${tier} tier:`, ...members.map(lineOf)]),
    `Progress: ${done}/${items.length} completed`,
    '[END TODO STATE]',
  ].join('\n');
}

function lineOf({ index, item }: Numbered): string {
  const { status, content } = item;
  return `    [${index}] ${ICONS.get(status) ?? '[ ]'} ${typeof content === 'string' ? content : ''}`;
}

const SELF_GROUP = /^ {2}For self:\n(?: {4}.*\n?)*/m;
const ANY_GROUP = /^ {2}For .+ tier:$/m;

/** The text of a list with unknown items, without the group of the agent's own. In a list without groups all are its own. */
export function withoutOwnGroup(text: string): string {
  return ANY_GROUP.test(text) ? text.replace(SELF_GROUP, '') : '';
}
