// Publishes what this process serves, again and again, until it stops: what nobody repeats is forgotten by the others.
// Must never keep the process alive, nor fail a stop because Redis is away.
import { PRESENT_EVERY_MS } from '../catalog/presence.ts';
import type { Startable } from '../lifecycle.ts';

/** One thing that is published. `publish` is safe to repeat. */
export interface Announced {
  publish(): Promise<unknown>;
  withdraw(): Promise<unknown>;
}

/** A first publication that fails fails the start; later ones are repeated. */
export function createAnnouncer(all: readonly Announced[], onError: (error: Error) => void): Startable {
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'announcer',
    async start() {
      await Promise.all(all.map((each) => each.publish()));
      timer = setInterval(() => {
        for (const each of all) each.publish().catch(onError);
      }, PRESENT_EVERY_MS).unref();
    },
    async stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      await Promise.all(all.map((each) => each.withdraw().catch(onError)));
    },
  };
}
