// One search over requests, tools, agents and schedules.
// Must never read more of a list than its bound, nor find what the caller's lists do not show.
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { readInput } from '../../contract/json/read-input.ts';
import {
  DEFAULT_FOUND,
  type Search,
  type SearchQuery,
  searchQuerySchema,
} from '../../contract/request/search.ts';
import type { ListedSchedule } from '../../contract/schedule/schedule.ts';

const MOST_WORDS = 8;
const SCHEDULES_OF_PAGE = 200;
/** Pages of schedules that are searched. */
const MOST_PAGES = 5;

type Lists = Pick<DirectiveClient, 'requests' | 'tools' | 'agents' | 'schedules'>;

export function createSearch({ requests, tools, agents, schedules }: Lists): DirectiveClient['search'] {
  async function foundSchedules(words: readonly string[], limit: number): Promise<ListedSchedule[]> {
    const found: ListedSchedule[] = [];
    let after: string | undefined;
    for (let page = 0; page < MOST_PAGES && found.length < limit; page += 1) {
      const { schedules: read, next } = await schedules.list({ after, limit: SCHEDULES_OF_PAGE });
      found.push(...read.filter(({ id }) => hasAll(words, [id])));
      if (next === null) break;
      after = next;
    }
    return found.slice(0, limit);
  }

  return async (query: SearchQuery): Promise<Search> => {
    const { q, since, until, limit = DEFAULT_FOUND } = readInput(searchQuerySchema, query, 'invalid_query');
    const words = q.toLowerCase().split(/\s+/).slice(0, MOST_WORDS);
    const [listing, catalog, known, scheduled] = await Promise.all([
      requests({ q, since, until, limit }),
      tools(),
      agents(),
      foundSchedules(words, limit),
    ]);
    return {
      requests: listing.requests,
      searched_until: listing.searched_until,
      tools: byBeginning(words, catalog.tools)
        .slice(0, limit)
        .map(({ name, server, title, description }) => ({
          name,
          server,
          ...(title === undefined ? {} : { title }),
          ...(description === undefined ? {} : { description }),
        })),
      agents: byBeginning(words, known.agents)
        .slice(0, limit)
        .map(({ name, description }) => ({ name, description })),
      schedules: scheduled,
    };
  };
}

interface Named {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

/** Those that have all words, the ones whose name begins with the first word before the others. */
function byBeginning<T extends Named>(words: readonly string[], all: readonly T[]): T[] {
  const [first = ''] = words;
  const rank = ({ name }: T): number => (name.toLowerCase().startsWith(first) ? 0 : 1);
  return all
    .filter(({ name, title = '', description = '' }) => hasAll(words, [name, title, description]))
    .toSorted((left, right) => rank(left) - rank(right));
}

function hasAll(words: readonly string[], texts: readonly string[]): boolean {
  const lower = texts.map((text) => text.toLowerCase());
  return words.every((word) => lower.some((text) => text.includes(word)));
}
