/** The filter of the list as text, `status:failed tool:mail.send since:noon words`, and as the API takes it.
 *  Never drops a word silently: an unknown one is a fault. */
import { pastInstant } from '../../../src/contract/past-instant.ts';
import type { RequestFilter } from '../../../src/contract/request/request-listing.ts';

/** Words before the colon, and the members they stand for. */
const MEMBERS: Readonly<Record<string, keyof RequestFilter>> = {
  status: 'status',
  agent: 'agent',
  tool: 'tool',
  error: 'error_type',
  error_type: 'error_type',
  tag: 'tag',
  conversation: 'conversation',
  since: 'since',
  until: 'until',
  score: 'score',
};

export const FILTER_WORDS = [
  'status',
  'agent',
  'tool',
  'error',
  'tag',
  'conversation',
  'since',
  'until',
  'score',
] as const;

const STATUSES: readonly string[] = ['open', 'waiting', 'succeeded', 'failed', 'cancelled'];

export interface ReadFilter {
  readonly query: Readonly<Record<string, string>>;
  /** Faults, in sentences; empty: none. */
  readonly faults: readonly string[];
}

const TOKEN = /(?:(?<name>[A-Za-z_]+):)?(?:"(?<quoted>[^"]*)"|(?<bare>\S+))/g;

export function readFilter(text: string, now: Date): ReadFilter {
  const query: Record<string, string> = {};
  const words: string[] = [];
  const faults: string[] = [];
  for (const { groups = {} } of text.matchAll(TOKEN)) {
    const { name, quoted, bare = '' } = groups;
    const value = quoted ?? bare;
    if (name === undefined) words.push(value);
    else {
      const fault = take(query, name.toLowerCase(), value, now);
      if (fault !== null) faults.push(fault);
    }
  }
  if (words.length > 0) query['q'] = words.join(' ');
  return { query, faults };
}

function take(query: Record<string, string>, name: string, value: string, now: Date): string | null {
  const member = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
  if (member === undefined) return `${name}: is unknown. Filters: ${FILTER_WORDS.join(', ')}.`;
  if (query[member] !== undefined) return `${name}: occurs twice.`;
  if (value === '') return `${name}: needs a value.`;
  if (member === 'status' && !STATUSES.includes(value)) return `status: is one of ${STATUSES.join(', ')}.`;
  const isTime = member === 'since' || member === 'until';
  const read = isTime ? pastInstant(value, now) : value;
  if (read === null) return `${name}: takes 30m, 2h, 7d, noon, today, yesterday, 14:30 or 2026-11-22T14:30Z.`;
  query[member] = read;
  return null;
}

/** The text with `name:value` in it; without it where it was there already. */
export function toggled(text: string, name: string, value: string): string {
  const wanted = /[\s"]/.test(value) ? `${name}:"${value.replaceAll('"', '')}"` : `${name}:${value}`;
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token);
  const others = tokens.filter((token) => !token.toLowerCase().startsWith(`${name}:`));
  return (tokens.includes(wanted) ? others : [...others, wanted]).join(' ');
}

export function has(text: string, name: string, value: string): boolean {
  return [...text.matchAll(TOKEN)].some(
    ({ groups = {} }) => groups['name'] === name && (groups['quoted'] ?? groups['bare']) === value,
  );
}

/** The value of a filter in the text; '' where there is none. */
export function valueIn(text: string, name: string): string {
  const found = [...text.matchAll(TOKEN)].find(({ groups = {} }) => groups['name'] === name)?.groups;
  return found?.['quoted'] ?? found?.['bare'] ?? '';
}

/** The text with another value of a filter; '' takes the filter out. */
export function replaced(text: string, name: string, value: string): string {
  const others = [...text.matchAll(TOKEN)]
    .map(([token]) => token)
    .filter((token) => !token.toLowerCase().startsWith(`${name}:`));
  return [...others, ...(value === '' ? [] : [`${name}:${value}`])].join(' ');
}
