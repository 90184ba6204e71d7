/** The lists of the servers behind this one, kept until a server announces a change or they are old.
 *  It must never let a server that does not answer hide the lists of others, nor keep what cannot be shown. */
import {
  isSpecType,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import type { ServerOffers } from '../../contract/tool/server-read.ts';
import type { ReadServer } from './server-reads.ts';

export interface OfferingServer {
  readonly name: string;
  readonly offers: ServerOffers;
}

/** Each rejects never: what cannot be read now is as it was read last; null: it was never read. */
export interface ServerLists {
  resources(server: OfferingServer): Promise<readonly Resource[] | null>;
  templates(server: OfferingServer): Promise<readonly ResourceTemplateType[] | null>;
  prompts(server: OfferingServer): Promise<readonly Prompt[] | null>;
}

/** Some servers announce no changes. */
const FRESH_MS = 10_000;
/** A host that begins must not wait long for a server that is down. */
const PATIENCE_MS = 10_000;
/** Where something is known already, or the last read failed, the read goes on behind the answer. */
const MOMENT_MS = 1_000;
/** After a failure, as long as the server announces no change. */
const AGAIN_MS = 60_000;
/** A list that no client has read for this long is forgotten. */
const FORGOTTEN_MS = 10 * 60_000;
const MOST_URI_CHARACTERS = 2_048;
const MOST_NAME_CHARACTERS = 256;

interface Kept<Item> {
  readonly revision: string;
  readonly startedAt: number;
  /** Nothing is known before it ends. */
  readonly isFirst: boolean;
  /** As read last; null: never. */
  items: readonly Item[] | null;
  /** null: it is under way. */
  ended: { readonly at: number; readonly isRead: boolean } | null;
  readonly reading: Promise<void>;
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

    async function fetched(server: string): Promise<readonly Item[]> {
      const params = { server, method, params: {}, patienceMs: PATIENCE_MS, signal: never };
      const result = await read(params).catch(withoutList);
      const items = result[member];
      return Array.isArray(items) ? (items as unknown[]).filter(isShown) : [];
    }

    function begin(server: string, revision: string, before: Kept<Item> | undefined): Kept<Item> {
      const { promise: reading, resolve } = Promise.withResolvers<void>();
      const isFirst = before === undefined || (before.isFirst && before.ended === null);
      const startedAt = performance.now();
      const items = before?.items ?? null;
      const entry: Kept<Item> = { revision, startedAt, isFirst, items, ended: null, reading };
      kept.set(server, entry);
      const end = (isRead: boolean): void => {
        entry.ended = { at: performance.now(), isRead };
        resolve();
      };
      fetched(server).then(
        (found) => {
          entry.items = found;
          end(true);
        },
        () => end(false),
      );
      return entry;
    }

    return async ({ name, offers: { revision } }: OfferingServer): Promise<readonly Item[] | null> => {
      const now = performance.now();
      const before = kept.get(name);
      if (before !== undefined && isGood(before, revision, now)) return before.items;
      for (const [other, { startedAt }] of kept) if (now - startedAt > FORGOTTEN_MS) kept.delete(other);
      const isUnderWay = before?.ended === null && before.revision === revision;
      const entry = isUnderWay ? before : begin(name, revision, before);
      const patienceMs = entry.isFirst ? PATIENCE_MS + MOMENT_MS : MOMENT_MS;
      await endedWithin(entry.reading, entry.startedAt + patienceMs - now);
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

function isGood({ revision: known, ended }: Kept<unknown>, revision: string, now: number): boolean {
  return ended !== null && known === revision && now - ended.at < (ended.isRead ? FRESH_MS : AGAIN_MS);
}

/** A server without such a list has answered; any other error may hide one. */
function withoutList(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound) return {};
  throw error;
}

/** Does not keep the process alive. */
async function endedWithin(reading: Promise<void>, ms: number): Promise<void> {
  if (ms <= 0) return undefined;
  const { promise: passed, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  timer.unref();
  await Promise.race([reading, passed]);
  clearTimeout(timer);
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
