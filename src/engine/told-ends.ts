// Hears the ends that workers elsewhere have recorded for runs whose last turn was taken here: no job is needed for the next turn.
// Must never be the only way: who tells also sees to it that the sweeper looks at the run soon.
import { readAnnouncement } from '../journal/announcement.ts';
import type { RunNews } from '../journal/journal.ts';
import { createOwnChannel } from '../journal/own-channel.ts';
import type { SubscriptionsOptions } from '../journal/subscriptions.ts';
import type { Startable } from '../lifecycle.ts';
import type { WakeRun } from '../queue/run-wake.ts';

export interface ToldEnds extends Startable {
  /** The channel, while it is heard; else ''. */
  hearsOn(): string;
}

export interface ToldEndsOptions {
  /** The listening connection is used for this subscription only. */
  subscription: SubscriptionsOptions;
  channel: string;
  /** Whether this engine may take a turn of the run without a job now. */
  mayTake(requestId: string): boolean;
  /** Whether nobody has paused or limited the lane of runs. Never rejects. */
  laneIsFree(): Promise<boolean>;
  /** Takes the turn; where it may not, `enqueue` leaves it to any engine. Neither rejects. */
  take: WakeRun;
  enqueue(requestId: string, version: number): Promise<void>;
  onError(error: Error): void;
}

export function createToldEnds(options: ToldEndsOptions): ToldEnds {
  const { subscription, channel, mayTake, laneIsFree, take, enqueue, onError } = options;

  async function goOn({ requestId, version, news }: End): Promise<void> {
    const isFree = await laneIsFree();
    if (isFree && mayTake(requestId)) await take(requestId, version, news);
    else await enqueue(requestId, version);
  }

  const hear = (message: string): void => void goOn(readEnd(message)).catch(onError);
  const unreadable = (message: string): void => {
    const end = readHead(message);
    if (end !== null) goOn(end).catch(onError);
  };
  // What was missed the sweeper finds.
  const missed = (): void => {};
  const own = createOwnChannel({ ...subscription, onError }, channel, { hear, missed, unreadable });
  return {
    name: 'told ends',
    hearsOn: () => (own.isHeard() ? channel : ''),
    start: own.start,
    // First in a stop: what ends from now on is for other engines; what this one is told until then it still sees to.
    stop: own.stop,
  };
}

const END = /^([A-Za-z0-9._:~-]{1,161}) (\d{1,15}) (\d{1,15}) ([01]) /;

interface End {
  requestId: string;
  version: number;
  news?: RunNews;
}

/**
 * As include-record.lua writes it: `<request> <version> <now> <1 = the run has nothing else to read> <announcement>`.
 * Throws when it cannot be read.
 */
function readEnd(message: string): End {
  const [head = '', requestId, version, now, alone] = END.exec(message) ?? [];
  if (requestId === undefined) throw new Error('no end of a run');
  const { signal } = readAnnouncement(requestId, message, head.length);
  const read = { requestId, version: Number(version) };
  if (alone !== '1' || signal === null) return read;
  return { ...read, news: { signal, now: Number(now) } };
}

/** The run that it is about, whatever the rest says: its turn reads the log. */
function readHead(message: string): End | null {
  const [, requestId, version] = END.exec(message) ?? [];
  return requestId === undefined ? null : { requestId, version: Number(version) };
}
