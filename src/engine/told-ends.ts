// Hears the ends that workers elsewhere have recorded for runs whose last turn was taken here: no job is needed for the next turn.
// Must never be the only way: who tells also sees to it that the sweeper looks at the run soon.
import { readAnnouncement } from '../journal/announcement.ts';
import type { RunNews } from '../journal/journal.ts';
import { createSubscriptions, type SubscriptionsOptions } from '../journal/subscriptions.ts';
import type { Startable } from '../lifecycle.ts';
import type { WakeRun } from '../queue/run-wake.ts';

export interface ToldEnds extends Startable {
  /** The channel, while it is heard; else ''. */
  hearsOn(): string;
}

/** Uses its listening connection for its subscription only. `wake`: once for each end. */
export function createToldEnds(
  options: SubscriptionsOptions,
  channel: string,
  wake: WakeRun,
  onError: (error: Error) => void,
): ToldEnds {
  const subscriptions = createSubscriptions(options);
  let isOpen = false;
  const hear = (message: string): void => {
    const { requestId, version, news } = readEnd(message);
    void wake(requestId, version, news);
  };
  // What was missed the sweeper finds.
  const missed = (): void => {};
  return {
    name: 'told ends',
    hearsOn: () => (isOpen && subscriptions.hearing().ok ? channel : ''),
    async start() {
      // Without Redis it goes on trying, and the engine is woken meanwhile.
      await subscriptions.open('plain', channel, { hear, missed }).catch(onError);
      isOpen = true;
    },
    // First in a stop: what ends from now on is for other engines.
    stop: async () => {
      isOpen = false;
      subscriptions.drop('plain', channel);
      subscriptions.close();
    },
  };
}

const END = /^(\S+) (\d+) (\d+) ([01]) /;

/** As include-record.lua writes it: `<request> <version> <now> <1 = the run has nothing else to read> <announcement>`. */
function readEnd(message: string): { requestId: string; version: number; news?: RunNews } {
  const [head = '', requestId = '', version, now, alone] = END.exec(message) ?? [];
  const { json } = readAnnouncement(message, head.length);
  const read = { requestId, version: Number(version) };
  if (alone !== '1' || json === '') return read;
  return { ...read, news: { signal: JSON.parse(json), now: Number(now) } };
}
