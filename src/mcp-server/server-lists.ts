/** The lists of the servers behind this one, kept until a server announces a change or they are old.
 *  It must never let a server that does not answer hide the lists of others, nor keep what cannot be shown. */
import {
  isSpecType,
  type Prompt,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import type { ServerOffers } from '../contract/server-read.ts';
import type { ReadServer } from './server-reads.ts';

export interface OfferingServer {
  readonly name: string;
  readonly offers: ServerOffers;
}

/** Each rejects never: what cannot be read now is as it was read last, or empty. */
export interface ServerLists {
  resources(server: OfferingServer): Promise<readonly Resource[]>;
  templates(server: OfferingServer): Promise<readonly ResourceTemplateType[]>;
  prompts(server: OfferingServer): Promise<readonly Prompt[]>;
}

/** Some servers announce no changes. */
const FRESH_MS = 10_000;
/** A host that begins must not wait long for a server that is down. */
const PATIENCE_MS = 10_000;
/** What nobody has asked for so long is forgotten. */
const FORGOTTEN_MS = 10 * 60_000;
const MOST_URI_CHARACTERS = 2_048;
const MOST_NAME_CHARACTERS = 256;

interface Kept<Item> {
  readonly revision: string;
  readonly readAt: number;
  readonly items: Promise<readonly Item[]>;
}

interface List<Item> {
  readonly method: 'resources/list' | 'resources/templates/list' | 'prompts/list';
  readonly member: string;
  readonly isShown: (item: unknown) => item is Item;
}

export function createServerLists(read: ReadServer): ServerLists {
  const never = new AbortController().signal;

  function listOf<Item>({ method, member, isShown }: List<Item>) {
    const kept = new Map<string, Kept<Item>>();

    async function fetched(server: string, before: Kept<Item> | undefined): Promise<readonly Item[]> {
      try {
        const result = await read({ server, method, params: {}, patienceMs: PATIENCE_MS, signal: never });
        const items = result[member];
        return Array.isArray(items) ? (items as unknown[]).filter(isShown) : [];
      } catch {
        return before?.items ?? [];
      }
    }

    return async ({ name, offers: { revision } }: OfferingServer): Promise<readonly Item[]> => {
      const now = performance.now();
      const before = kept.get(name);
      if (before?.revision === revision && now - before.readAt < FRESH_MS) return before.items;
      for (const [other, { readAt }] of kept) if (now - readAt > FORGOTTEN_MS) kept.delete(other);
      const entry = { revision, readAt: now, items: fetched(name, before) };
      kept.set(name, entry);
      return entry.items;
    };
  }

  return {
    resources: listOf({ method: 'resources/list', member: 'resources', isShown: isResource }),
    templates: listOf({
      method: 'resources/templates/list',
      member: 'resourceTemplates',
      isShown: isTemplate,
    }),
    prompts: listOf({ method: 'prompts/list', member: 'prompts', isShown: isPrompt }),
  };
}

/** One wrong entry would have a client refuse the whole list. */
function isResource(item: unknown): item is Resource {
  return isSpecType.Resource(item) && isUri(item.uri);
}

function isTemplate(item: unknown): item is ResourceTemplateType {
  return isSpecType.ResourceTemplate(item) && isUri(item.uriTemplate);
}

function isPrompt(item: unknown): item is Prompt {
  return isSpecType.Prompt(item) && item.name !== '' && item.name.length <= MOST_NAME_CHARACTERS;
}

function isUri(uri: string): boolean {
  return uri.length <= MOST_URI_CHARACTERS && /^[^\p{Cc}\s]+$/u.test(uri);
}
