// One channel that is to be heard: since when it is, when it was heard last, what it was asked.
// Must never subscribe to it.
import type { RedisConnection } from '../redis/connection.ts';

/** A sharded channel lives in the slot of its name; a plain one is heard from every node of a cluster. */
export type ChannelKind = 'plain' | 'sharded';

export interface ChannelListener {
  hear(message: string): void;
  /** Heard again after messages may have been lost. */
  missed(): void;
}

export interface Hearing {
  /** Every channel is confirmed and answers, but for those that were opened a moment ago. */
  ok: boolean;
  /** Since when one is not, milliseconds since the epoch; null: all are. */
  lostAt: number | null;
}

export interface Channel {
  kind: ChannelKind;
  name: string;
  listener: ChannelListener;
  /** Settles with the first answer of Redis. */
  opened: PromiseWithResolvers<void>;
  /** Of the subscription that counts: an answer to an earlier one says nothing. */
  round: number;
  /** null: confirmed, and it has answered since. */
  lostAt: number | null;
  wasHeard: boolean;
  heardAt: number;
  /** Written to the channel itself and not heard yet. */
  asked: boolean;
  /** Questions in a row that were not heard. */
  unheard: number;
}

/** Every process that hears it on a channel it shares knows that it hears. */
const QUESTION = '?';

export function newChannel(kind: ChannelKind, name: string, listener: ChannelListener): Channel {
  const opened = Promise.withResolvers<void>();
  // Whoever waits for it hears of it; nobody may.
  opened.promise.catch(() => {});
  const now = Date.now();
  const silence = { lostAt: now, wasHeard: false, heardAt: now, asked: false, unheard: 0 };
  return { kind, name, listener, opened, round: 0, ...silence };
}

/** From now on messages may be missed. */
export function lose(channel: Channel): void {
  channel.lostAt ??= Date.now();
  channel.asked = false;
}

/** Redis has confirmed the subscription. */
export function confirm(channel: Channel): void {
  const { wasHeard } = channel;
  Object.assign(channel, { lostAt: null, wasHeard: true, heardAt: Date.now() });
  channel.opened.resolve();
  if (wasHeard) channel.listener.missed();
}

/** Something was heard on the channel; a question says only that it is heard. */
export function hear(channel: Channel, message: string): void {
  channel.heardAt = Date.now();
  channel.asked = false;
  channel.unheard = 0;
  if (message !== QUESTION) channel.listener.hear(message);
}

/** What Redis did not take is not missed either. */
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

/** A channel that was opened less than `newMs` ago is on its way to Redis; each reader of a log opens one. */
export function hearingOf(channels: Iterable<Channel>, newMs: number): Hearing {
  const now = Date.now();
  const isNew = ({ wasHeard, lostAt }: Channel): boolean => !wasHeard && now - (lostAt ?? now) < newMs;
  const lost = [...channels]
    .filter((channel) => !isNew(channel))
    .flatMap(({ lostAt }) => (lostAt === null ? [] : [lostAt]));
  return lost.length === 0 ? { ok: true, lostAt: null } : { ok: false, lostAt: Math.min(...lost) };
}
