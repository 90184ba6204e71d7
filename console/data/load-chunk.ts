/** Loads the code of a page, also when the service is away for a while.
 *  It must never give up while the service does not answer, nor try for ever when it does. */
import { call, isAway } from './api.ts';

const AGAIN_MS = 2_000;

/** `ask` throws while the service is away. */
export async function loadChunk<Module>(
  load: () => Promise<Module>,
  ask: () => Promise<unknown> = async () => call('GET', '/v1/session'),
  againMs: number = AGAIN_MS,
): Promise<Module> {
  for (let failedThere = false; ;) {
    try {
      return await load();
    } catch (error) {
      const wasAway = await waitUntilBack(ask, againMs);
      // It is there and does not have the chunk: an update has taken it away. Once alone, it may have come back in between.
      if (!wasAway && failedThere) throw error;
      failedThere = !wasAway;
    }
  }
}

/** Whether it was away. */
async function waitUntilBack(ask: () => Promise<unknown>, againMs: number): Promise<boolean> {
  for (let tries = 0; ; tries += 1) {
    const isThere = await ask().then(
      () => true,
      (error: unknown) => !isAway(error),
    );
    if (isThere) return tries > 0;
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

/** Reads all of them while nothing else is to do, so that they are there when the service is not. */
export function loadWhenIdle(loads: readonly (() => Promise<unknown>)[]): void {
  setTimeout(async () => {
    for (const load of loads) await load().catch(() => {});
  }, AGAIN_MS);
}
