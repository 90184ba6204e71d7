// The catalog of models in Redis: the providers that workers reach, and the models behind the aliases.
// Must never hold a key, nor be needed to call a model: it only informs.
import type { KnownProvider, ModelTable } from '../../contract/model/model-name.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { type Clock, createPresence, FORGOTTEN_AFTER_MS, publishFields } from './presence.ts';
import { redisClock } from '../../platform/redis/clock.ts';

const PROVIDER = 'provider:';
const ALIAS = 'alias:';
const BLOCKED = 'blocked:';

interface Seen {
  /** Milliseconds since the epoch, by the clock of Redis. */
  seenAt: number;
}

type ProviderEntry = KnownProvider & Seen;
type AliasEntry = { models: string[] } & Seen;

export interface PublishedModels extends ModelTable {
  /** Providers whose lane a worker has paused; milliseconds since the epoch. */
  readonly blockedUntil: ReadonlyMap<string, number>;
}

export type ModelCatalog = ReturnType<typeof createModelCatalog>;

export function createModelCatalog(
  connection: RedisConnection,
  keys: KeySpace,
  now: Clock = redisClock(connection),
) {
  const presence = createPresence(connection, keys.models, now, isForgotten);

  /** `worker`: serves these providers until it deregisters. */
  async function publish({ providers, aliases }: ModelTable, worker?: string): Promise<void> {
    const seenAt = await now();
    const entries = [
      ...[...providers].map(([name, { type }]) => [`${PROVIDER}${name}`, { type, seenAt }] as const),
      ...[...aliases].map(([name, models]) => [`${ALIAS}${name}`, { models, seenAt }] as const),
    ];
    const fields = entries.flatMap(([field, entry]) => [field, JSON.stringify(entry)]);
    await publishFields(connection, keys.models, fields);
    if (worker !== undefined) await presence.register(worker, [...providers.keys()]);
  }

  /** Records that the provider's lane waits until then (milliseconds since the epoch), or goes on (0). */
  async function noteBlocked(provider: string, until: number): Promise<void> {
    await publishFields(connection, keys.models, [`${BLOCKED}${provider}`, until]);
  }

  /** Forgets providers and aliases by their age, and the pause of a provider that no worker serves. */
  function isForgotten(field: string, value: string, served: ReadonlySet<string>, at: number): boolean {
    if (field.startsWith(BLOCKED)) return !served.has(field.slice(BLOCKED.length));
    return at - (JSON.parse(value) as Seen).seenAt >= FORGOTTEN_AFTER_MS;
  }

  async function read(): Promise<PublishedModels> {
    const [hash, at] = await Promise.all([connection.hgetall(keys.models), now()]);
    const fields = Object.entries(hash);
    const isServed = presence.servedBy(hash, at);
    const named = (prefix: string): [string, string][] =>
      fields
        .filter(([field]) => field.startsWith(prefix))
        .map(([field, value]): [string, string] => [field.slice(prefix.length), value])
        .sort(([left], [right]) => (left < right ? -1 : 1));
    const providers = seenSince<ProviderEntry>(named(PROVIDER), at - FORGOTTEN_AFTER_MS);
    const aliases = seenSince<AliasEntry>(named(ALIAS), at - FORGOTTEN_AFTER_MS);
    return {
      providers: new Map(
        providers.map(([name, { type }]) => [name, { type, ...(isServed(name) ? {} : { served: false }) }]),
      ),
      aliases: new Map(aliases.map(([name, { models }]) => [name, models])),
      blockedUntil: new Map(named(BLOCKED).map(([name, until]) => [name, Number(until)])),
    };
  }

  function seenSince<E extends Seen>(entries: readonly [string, string][], at: number): [string, E][] {
    return entries
      .map(([name, json]): [string, E] => [name, JSON.parse(json) as E])
      .filter(([, { seenAt }]) => seenAt > at);
  }

  return { publish, deregister: presence.deregister, noteBlocked, read };
}
