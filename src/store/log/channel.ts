// The state of one subscribed channel: whether it is confirmed, when a message last came, whether a probe is unanswered.
// Must never subscribe: the subscriber does.
import type { RedisConnection } from '../../platform/redis/connection.ts';

/** In a cluster a sharded channel belongs to the node of its slot; a plain one reaches every node. */
export type ChannelKind = 'plain' | 'sharded';

export interface ChannelListener {
  /** Throws for a message that it cannot read: any program on Redis can write one. */
  hear(message: string): void;
  /** The channel works again, and messages may have been lost before. */
  missed(): void;
  /** Gets the message that it could not read. Default: `missed`. */
  unreadable?(message: string): void;
}

export interface Hearing {
  /** Every channel is confirmed and answers; channels that were opened a moment ago do not count. */
  ok: boolean;
  /** Since when the first of them does not, milliseconds since the epoch; null: all do. */
  lostAt: number | null;
}

export interface Channel {
  kind: ChannelKind;
  name: string;
  listener: ChannelListener;
  /** Settles with the first answer of Redis. */
  opened: PromiseWithResolvers<void>;
  /** Number of the current subscription: answers to an earlier one are ignored. */
  round: number;
  /** Since when messages may be missed, milliseconds since the epoch; null: the channel works. */
  lostAt: number | null;
  wasHeard: boolean;
  heardAt: number;
  /** A probe was published to the channel and has not come back. */
  asked: boolean;
  /** Probes in a row that did not come back. */
  unheard: number;
}

/** The probe. It reaches every process that shares the channel, and proves to each that its subscription works. */
const QUESTION = '{}';

export function newChannel(kind: ChannelKind, name: string, listener: ChannelListener): Channel {
  const opened = Promise.withResolvers<void>();
  // A rejection that nobody waits for must not end the process.
  opened.promise.catch(() => {});
  const now = Date.now();
  const silence = { lostAt: now, wasHeard: false, heardAt: now, asked: false, unheard: 0 };
  return { kind, name, listener, opened, round: 0, ...silence };
}

/** Marks the channel as lost: from now on messages may be missed. */
export function lose(channel: Channel): void {
  channel.lostAt ??= Date.now();
  channel.asked = false;
}

/** Call when Redis has confirmed the subscription. */
export function confirm(channel: Channel): void {
  const { wasHeard } = channel;
  Object.assign(channel, { lostAt: null, wasHeard: true, heardAt: Date.now() });
  channel.opened.resolve();
  if (wasHeard) channel.listener.missed();
}

/** Takes a message of the channel; a probe only proves that the channel works. false: its listener cannot read it. */
export function hear(channel: Channel, message: string): boolean {
  channel.heardAt = Date.now();
  channel.asked = false;
  channel.unheard = 0;
  if (message === QUESTION) return true;
  const { listener } = channel;
  try {
    listener.hear(message);
    return true;
  } catch {
    if (listener.unreadable) listener.unreadable(message);
    else listener.missed();
    return false;
  }
}

/** Publishes a probe. It counts as asked only once Redis has taken it. */
export function ask(publishing: RedisConnection, channel: Channel): void {
  const { kind, name } = channel;
  const written = kind === 'plain' ? publishing.publish(name, QUESTION) : publishing.spublish(name, QUESTION);
  const { heardAt, round } = channel;
  written.then(
    () => {
      if (channel.round === round && channel.heardAt === heardAt) channel.asked = true;
    },
    () => {},
  );
}

/** Ignores channels that were opened less than `newMs` ago and wait for their first answer: each reader of a log opens one. */
export function hearingOf(channels: Iterable<Channel>, newMs: number): Hearing {
  const now = Date.now();
  const isNew = ({ wasHeard, lostAt }: Channel): boolean => !wasHeard && now - (lostAt ?? now) < newMs;
  const lost = [...channels]
    .filter((channel) => !isNew(channel))
    .flatMap(({ lostAt }) => (lostAt === null ? [] : [lostAt]));
  return lost.length === 0 ? { ok: true, lostAt: null } : { ok: false, lostAt: Math.min(...lost) };
}
