// Subscribes to the announcements of changed tools or agents. Never the only way to learn of a change: an announcement
// can be lost, and a process that dies makes none.
import { createSubscriptions, type SubscriptionsOptions } from '../log/subscriptions.ts';
import type { KeySpace } from '../keys.ts';

export interface CatalogChanges {
  /** Calls back at each announcement from now on, and when some may have been missed. */
  listen(mayHaveChanged: () => void): void;
  close(): void;
}

/** Subscribes with the first listener. */
export function createCatalogChanges(
  options: SubscriptionsOptions,
  keys: KeySpace,
  onError: (error: Error) => void,
): CatalogChanges {
  const subscriptions = createSubscriptions(options);
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  return {
    listen(mayHaveChanged) {
      listeners.add(mayHaveChanged);
      subscriptions.open('plain', keys.catalogChanges, { hear: notify, missed: notify }).catch(onError);
    },
    close: subscriptions.close,
  };
}
