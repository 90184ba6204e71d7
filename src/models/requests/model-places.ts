// Slots at the providers for the sampling of tools: as many at once in this worker as the lane of a provider has. Never
// keeps a slot for a cancelled request, nor lets one wait without end.
import { createSemaphore, type Semaphore } from '../../platform/bounds/semaphore.ts';

export interface ModelPlaces {
  /** null: no place was free in time, and nothing was done. */
  during<T>(provider: string, signal: AbortSignal, work: () => Promise<T>): Promise<T | null>;
}

export interface ModelPlacesOptions {
  readonly placesOf: (provider: string) => number;
  readonly longestWaitMs: number;
}

/** They are not those of the lane itself, whose directives wait without a tool that holds a place of its own meanwhile. */
export function createModelPlaces({ placesOf, longestWaitMs }: ModelPlacesOptions): ModelPlaces {
  const semaphores = new Map<string, Semaphore>();
  const semaphoreOf = (provider: string): Semaphore => {
    const known = semaphores.get(provider) ?? createSemaphore(placesOf(provider));
    semaphores.set(provider, known);
    return known;
  };
  return {
    async during(provider, signal, work) {
      const places = semaphoreOf(provider);
      const inTime = async () => places.take(AbortSignal.any([signal, AbortSignal.timeout(longestWaitMs)]));
      if (!places.tryTake() && !(await inTime())) return null;
      try {
        return await work();
      } finally {
        places.release();
      }
    },
  };
}
