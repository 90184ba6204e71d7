// Publishes the lanes that this process serves at an interval until it stops: entries that are not repeated expire.
// Never keeps the process alive, nor fails a stop because Redis is unreachable.
import { PRESENT_EVERY_MS } from '../store/catalog/presence.ts';
import type { Startable } from '../platform/lifecycle.ts';

/** One thing that is published. `publish` is safe to repeat. */
export interface Announced {
  publish(): Promise<unknown>;
  withdraw(): Promise<unknown>;
}

/** A first publication that fails fails the start; later ones are repeated. */
export function createAnnouncer(all: readonly Announced[], onError: (error: Error) => void): Startable {
  let timer: NodeJS.Timeout | undefined;
  let state: 'new' | 'begun' | 'stopped' = 'new';
  const isStopped = (): boolean => state === 'stopped';
  return {
    name: 'announcer',
    async start() {
      state = 'begun';
      await Promise.all(all.map((each) => each.publish()));
      if (isStopped()) return;
      timer = setInterval(() => {
        for (const each of all) each.publish().catch(onError);
      }, PRESENT_EVERY_MS).unref();
    },
    async stop() {
      if (state !== 'begun') return;
      // A start that failed, or that nobody waited for, may have published something too.
      state = 'stopped';
      clearInterval(timer);
      await Promise.all(all.map((each) => each.withdraw().catch(onError)));
    },
  };
}
