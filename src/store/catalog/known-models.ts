// The models that a submitter knows: aliases and providers, from configuration and the catalog.
// Must never ask a provider.
import { DEFAULT_ALIASES, type ModelTable } from '../../contract/model/model-name.ts';
import type { ModelCatalog } from './model-catalog.ts';
import { recent, type Recent } from './recent.ts';

export type KnownModelsSource = Recent<ModelTable>;

/** For programs without a configuration of their own. */
export const NO_MODELS: ModelTable = { aliases: new Map(), providers: new Map() };

/** `configured` is known before any worker publishes it, and wins over the catalog. */
export function knownModels(
  catalog: Pick<ModelCatalog, 'read'>,
  configured: ModelTable,
  now: () => number = Date.now,
): KnownModelsSource {
  async function read(): Promise<ModelTable> {
    const published = await catalog.read();
    return {
      aliases: new Map([...DEFAULT_ALIASES, ...published.aliases, ...configured.aliases]),
      providers: new Map([...published.providers, ...configured.providers]),
    };
  }

  return recent(read, now);
}
