// The catalog of tools in Redis: the tools of each MCP server, visible to every process. Never needed to run a tool: it
// only informs.
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { createSteps } from '../../platform/bounds/steps.ts';
import type { ServerOffers } from '../../contract/tool/server-read.ts';
import type { ServerLogin, ToolFault, ToolListing } from '../../contract/tool/tool-listing.ts';
import type { KeySpace } from '../keys.ts';
import { redisClock } from '../../platform/redis/clock.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { entryText, parseEntry } from './entry-text.ts';
import { isTenantServer } from './route.ts';
import { type Clock, createPresence, FORGOTTEN_AFTER_MS, isPresence, publishFields } from './presence.ts';

export type PublishedTool = ToolListing['tools'][number];
export type ServerStatus = ToolListing['servers'][number]['status'];

/** One server's entry. `updatedAt` is milliseconds since the epoch, by the publisher's clock. */
export interface CatalogEntry {
  server: string;
  status: ServerStatus;
  error?: string;
  tools: PublishedTool[];
  /** Absent: none, or not known yet. */
  faults?: readonly ToolFault[];
  /** null: not logged in. Absent: no login is needed, or not known yet. */
  login?: ServerLogin | null;
  /** The model that its tools may ask; absent or null: none. */
  sampling?: string | null;
  /** Absent or '': the server gives none. */
  instructions?: string;
  /** Absent: MCP clients of the service see nothing of it but tools. */
  offers?: ServerOffers | undefined;
  updatedAt: number;
  /** The lane is paused until then because the server is unreachable; milliseconds since the epoch. */
  blockedUntil?: number;
  /** Since when it was not reached, milliseconds since the epoch, and how often that was tried. */
  down?: { sinceAt: number; tries: number };
  /** false: no worker serves it at present. Absent: one does, or it is unknown. Not stored. */
  served?: boolean;
}

export type ToolCatalog = ReturnType<typeof createToolCatalog>;

export function createToolCatalog(
  connection: RedisConnection,
  keys: KeySpace,
  now: Clock = redisClock(connection),
) {
  const presence = createPresence(connection, keys.catalog, now, isForgotten);

  const parse = createParsedFields<CatalogEntry>(parseEntry);

  async function publish(entry: CatalogEntry): Promise<void> {
    const { served: _, ...stored } = entry;
    await publishFields(connection, keys.catalog, [entry.server, await entryText(stored)]);
    await connection.publish(keys.catalogChanges, entry.server);
  }

  /** Every known server, by name. The entries are shared and must not be changed. */
  async function read(): Promise<CatalogEntry[]> {
    const [fields, at] = await Promise.all([connection.hgetall(keys.catalog), now()]);
    const isServed = presence.servedBy(fields, at);
    const entries = await parse(Object.entries(fields).filter(([field]) => !isPresence(field)));
    return entries
      .map(([server, entry]) => (isServed(server) ? entry : { ...entry, served: false }))
      .sort((left, right) => (left.server < right.server ? -1 : 1));
  }

  /** Registers that the worker serves these servers; returns those without an entry, which Redis has lost. */
  async function present(worker: string, servers: readonly string[]): Promise<string[]> {
    const known = await presence.register(worker, servers);
    return servers.filter((server) => !known.has(server));
  }

  /** Makes a server known that a tenant has added, until a worker publishes it. */
  async function introduce(server: string): Promise<void> {
    const entry: CatalogEntry = { server, status: 'connecting', tools: [], updatedAt: Date.now() };
    await connection.hsetnx(keys.catalog, server, JSON.stringify(entry));
    await connection.pexpire(keys.catalog, FORGOTTEN_AFTER_MS);
  }

  /** Forgets a server that a tenant has removed. */
  async function forget(server: string): Promise<void> {
    await connection.hdel(keys.catalog, server);
    await connection.publish(keys.catalogChanges, server);
  }

  return { publish, read, present, introduce, forget, deregister: presence.deregister };
}

/** A server that a tenant has added is known before a worker serves it; when it is removed, so is its entry. */
function isForgotten(name: string, json: string, served: ReadonlySet<string>, now: number): boolean {
  if (served.has(name)) return false;
  if (!isTenantServer(name)) return true;
  return (JSON.parse(json) as CatalogEntry).updatedAt < now - FORGOTTEN_AFTER_MS;
}

/** Entries that a tenant sees, by the names that it knows. A server of a file wins over the same name of a tenant. */
export function entriesFor(entries: readonly CatalogEntry[], tenant: string): readonly CatalogEntry[] {
  if (!entries.some(({ server }) => isTenantServer(server))) return entries;
  const shared = entries.filter(({ server }) => !isTenantServer(server));
  const names = new Set(shared.map(({ server }) => server));
  const own = entries
    .filter(
      ({ server }) => isTenantServer(server) && tenantOf(server) === tenant && !names.has(ownId(server)),
    )
    .map((entry) => ({ ...entry, server: ownId(entry.server) }));
  return [...shared, ...own].toSorted((left, right) => (left.server < right.server ? -1 : 1));
}

export interface ListingOptions {
  /** Also servers that no worker serves any more. Default: false. */
  readonly remembered?: boolean;
}

/** The catalog as the API shows it. */
export function toolListing(
  entries: readonly CatalogEntry[],
  { remembered = false }: ListingOptions = {},
): ToolListing {
  const listed = entries.filter((entry) => remembered || entry.served !== false);
  return {
    tools: listed.flatMap((entry) => entry.tools),
    servers: listed.map((entry) => ({
      name: entry.server,
      status: entry.status,
      ...(entry.error === undefined ? {} : { error: entry.error }),
      tools: entry.tools.length,
      ...(entry.faults === undefined || entry.faults.length === 0 ? {} : { faults: [...entry.faults] }),
      ...(entry.login ? { login: entry.login } : {}),
      ...(entry.sampling ? { sampling: entry.sampling } : {}),
      ...(entry.instructions ? { instructions: entry.instructions } : {}),
      ...(entry.offers ? { offers: entry.offers } : {}),
      updated_at: new Date(entry.updatedAt).toISOString(),
      ...(entry.served === false ? { served: false as const } : {}),
    })),
  };
}

interface Parsed<T> {
  readonly text: string;
  readonly value: T;
}

/** The values are shared by all callers, who do not change them. An unchanged text is the same object again. */
export function createParsedFields<T>(
  parse: (text: string) => Promise<T>,
): (fields: readonly (readonly [string, string])[]) => Promise<(readonly [string, T])[]> {
  let known = new Map<string, Parsed<T>>();

  return async (fields) => {
    const now = new Map<string, Parsed<T>>();
    const nextStep = createSteps();
    for (const [field, text] of fields) {
      const before = known.get(field);
      const isSame = before?.text === text;
      now.set(field, isSame ? before : { text, value: await parse(text) });
      await nextStep();
    }
    known = now;
    return [...now].map(([field, { value }]) => [field, value] as const);
  };
}
