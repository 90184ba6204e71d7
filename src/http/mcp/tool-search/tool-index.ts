/** A full-text index of the tools that a client may see: words of names, descriptions and parameters, ranked by BM25.
 *  Bounds everything that a server wrote before it is indexed. */
import MiniSearch from 'minisearch';
import { isObject } from '../../../contract/json/json-object.ts';
import type { Offer, OfferedTools } from '../offered-tools.ts';

/** Names of tools, best first. */
export type SearchTools = (query: string, server: string | undefined) => readonly string[];

interface Entry {
  /** The name under which the client calls it. */
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly parameters: string;
}

const MOST_TOOLS = 5_000;
const MOST_DESCRIPTION_CHARACTERS = 1_000;
const MOST_PARAMETERS = 50;
const MOST_PARAMETER_CHARACTERS = 200;
/** Characters of all parameters of a tool. */
const MOST_PARAMETERS_CHARACTERS = 2_000;
/** Each word is compared with every similar one of the index. */
const MOST_QUERY_WORDS = 24;
/** Words of a query that may be misspelt: to compare one with all words of many tools takes milliseconds. */
const MOST_FUZZY_WORDS = 8;
/** Entries that are indexed in one step of the event loop: the largest take some milliseconds each. */
const STEP = 10;

const FIELDS = ['name', 'title', 'server', 'description', 'parameters'];
const WEIGHTS = { name: 4, title: 3, server: 2, description: 1.5, parameters: 0.7 };

/** An index that is built again only when the entries have changed. */
export function createToolIndex(): (offered: OfferedTools) => Promise<SearchTools> {
  let source: OfferedTools | null = null;
  let text = '';
  let index: Promise<SearchTools> | null = null;
  return async (offered) => {
    if (index !== null && source === offered) return index;
    source = offered;
    const entries = [...offered.offers].slice(0, MOST_TOOLS).map(entryOf);
    const now = JSON.stringify(entries);
    if (index !== null && now === text) return index;
    text = now;
    index = indexed(entries);
    return index;
  };
}

async function indexed(entries: readonly Entry[]): Promise<SearchTools> {
  const index = new MiniSearch<Entry>({ fields: FIELDS, tokenize: words, processTerm: stemmed });
  await index.addAllAsync(entries, { chunkSize: STEP });
  const serverOf = new Map(entries.map(({ id, server }) => [id, server]));
  return (query, server) =>
    index
      .search([...new Set(words(query))].slice(0, MOST_QUERY_WORDS).join(' '), {
        boost: WEIGHTS,
        prefix: (term) => term.length > 3,
        fuzzy: (term, at) => (term.length > 5 && at < MOST_FUZZY_WORDS ? 0.2 : false),
        weights: { prefix: 0.4, fuzzy: 0.2 },
        filter: ({ id }) => server === undefined || serverOf.get(id as string) === server,
      })
      .map(({ id }) => id as string);
}

function entryOf([id, offer]: [string, Offer]): Entry {
  const name = offer.tool.slice(0, MOST_DESCRIPTION_CHARACTERS);
  const description = (offer.description ?? '').slice(0, MOST_DESCRIPTION_CHARACTERS);
  if (offer.server === null)
    return { id, server: 'agent', name, title: 'ask', description, parameters: 'query' };
  const title = (offer.title ?? '').slice(0, MOST_PARAMETER_CHARACTERS);
  return { id, server: offer.server, name, title, description, parameters: parametersOf(offer.input_schema) };
}

function parametersOf({ properties }: Readonly<Record<string, unknown>>): string {
  if (!isObject(properties)) return '';
  const texts = Object.entries(properties)
    .slice(0, MOST_PARAMETERS)
    .map(([name, schema]) => {
      const description = isObject(schema) ? schema['description'] : undefined;
      return `${name} ${typeof description === 'string' ? description : ''}`.slice(
        0,
        MOST_PARAMETER_CHARACTERS,
      );
    });
  return texts.join(' ').slice(0, MOST_PARAMETERS_CHARACTERS);
}

/** Words of a name or a sentence: `listOpenPull_requests` has four. */
function words(text: string): string[] {
  return (
    text
      .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
      .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and any are as at be been by can could did do does for from get had has have how i if in into is it its let ' +
    'me my need of on or our please should so some tell than that the their them then there these this to tool use ' +
    'using want was we what when where which who will with would you your'
  ).split(' '),
);
const MOST_WORD_CHARACTERS = 40;

/** The stem of a word; null: it has no meaning for a search. */
function stemmed(word: string): string | null {
  const term = word.toLowerCase().slice(0, MOST_WORD_CHARACTERS);
  if (STOP_WORDS.has(term)) return null;
  for (const [end, replacement, least] of ENDINGS)
    if (term.endsWith(end) && term.length - end.length >= least)
      return `${term.slice(0, term.length - end.length)}${replacement}`;
  return term;
}

/** Ending, its replacement, and the fewest characters before it. */
const ENDINGS: readonly (readonly [string, string, number])[] = [
  ['ations', 'at', 3],
  ['ation', 'at', 3],
  ['ies', 'y', 2],
  ['sses', 'ss', 1],
  ['ing', '', 4],
  ['ated', 'at', 3],
  ['ates', 'at', 3],
  ['ate', 'at', 3],
  ['ed', '', 4],
  ['es', '', 4],
  ['ss', 'ss', 1],
  ['us', 'us', 1],
  ['s', '', 3],
  ['e', '', 4],
];
