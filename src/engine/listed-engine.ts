// Lists this engine among those that starts of runs are sent to, while it hears and takes work.
// Must never list a channel that is not heard.
import { type HearingEngines, LIST_EVERY_MS } from '../journal/hearing-engines.ts';
import { createLoop, settledWithin, type Startable } from '../lifecycle.ts';

export interface ListedEngineParts {
  engines: HearingEngines;
  /** The channel, while starts may be sent there; else ''. */
  hearsOn(): string;
  onError(error: Error): void;
}

/** How long a stop waits for Redis, milliseconds: what is not removed expires. */
const LONGEST_STOP_MS = 1_000;

export function createListedEngine({ engines, hearsOn, onError }: ListedEngineParts): Startable {
  let listed = '';

  async function look(): Promise<void> {
    const channel = hearsOn();
    if (channel !== '') await engines.list(channel);
    else if (listed !== '') await engines.remove(listed);
    listed = channel;
  }

  const loop = createLoop({
    name: 'listed engine',
    work: look,
    everyMs: LIST_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return {
    ...loop,
    async stop(): Promise<void> {
      await loop.stop();
      if (listed !== '')
        await settledWithin(
          engines.remove(listed).catch(() => {}),
          LONGEST_STOP_MS,
        );
    },
  };
}
