// The channels of one connection: subscribed again after every reconnect, and each tested by a message to itself. Never
// takes a subscription for granted: it holds until the connection is lost or the channel stays silent at a test.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import {
  ask,
  type Channel,
  type ChannelKind,
  type ChannelListener,
  confirm,
  hear,
  type Hearing,
  hearingOf,
  lose,
  newChannel,
} from './channel.ts';

export interface Subscriptions {
  /** Resolves when Redis has confirmed it for the first time; rejects when it refuses, or does not answer in 5 s. */
  open(kind: ChannelKind, name: string, listener: ChannelListener): Promise<void>;
  drop(kind: ChannelKind, name: string): void;
  hearing(): Hearing;
  close(): void;
}

export interface SubscriptionsOptions {
  /** Used for subscriptions only; the caller owns and closes it. */
  listening: RedisConnection;
  /** Where announcements are written: what is written there has to be heard here. */
  publishing: RedisConnection;
  /** A channel on which nothing was heard for so long is asked, milliseconds. Default: 5 000. */
  verifyMs?: number;
  /** Called at most once a minute while unreadable messages come. Default: not called. */
  onError?: ((error: Error) => void) | undefined;
}

const REPORT_MS = 60_000;
/** Time that a subscription may wait for Redis before its caller gets an error. */
const CONFIRM_MS = 5_000;
const VERIFY_MS = 5_000;
/** Then it is not the subscription but the connection. */
const MAX_UNHEARD = 2;
const keyOf = (kind: ChannelKind, name: string): string => `${kind} ${name}`;

/** Rejects when Redis does not confirm in time; the subscription itself goes on trying. */
async function inTime(confirmed: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('Command timed out')), CONFIRM_MS);
  await Promise.race([confirmed, late.promise]).finally(() => clearTimeout(timer));
}

export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { listening, publishing, verifyMs = VERIFY_MS } = options;
  const channels = new Map<string, Channel>();
  const report = unreadableReport(options.onError);
  let verifying: NodeJS.Timeout | undefined;

  const receive = (kind: ChannelKind) => (name: string, message: string) => {
    const channel = channels.get(keyOf(kind, name));
    if (channel && !hear(channel, message)) report(name);
  };

  const forgetAll = (): void => channels.forEach(lose);
  const renewAll = (): void => channels.forEach(subscribe);
  const heard = { message: receive('plain'), smessage: receive('sharded') };
  listening.on('message', heard.message).on('smessage', heard.smessage);
  listening.on('close', forgetAll).on('ready', renewAll);
  // A cluster stays ready while a node of it is replaced; its subscriptions are only on their way by then.
  listening.on('subscribersReady', renewAll);

  function subscribe(channel: Channel): void {
    lose(channel);
    const round = ++channel.round;
    const { kind, name } = channel;
    const answer = kind === 'plain' ? listening.subscribe(name) : listening.ssubscribe(name);
    answer.then(
      () => round === channel.round && confirm(channel),
      (error: unknown) => round === channel.round && refuse(channel, error),
    );
  }

  /** One that was heard before is tried again by `verify`. */
  function refuse(channel: Channel, error: unknown): void {
    if (channel.wasHeard) return;
    channel.opened.reject(error);
    if (channels.get(keyOf(channel.kind, channel.name)) === channel)
      channels.delete(keyOf(channel.kind, channel.name));
  }

  function verifyAll(): void {
    if (listening.status === 'ready') for (const channel of channels.values()) verify(channel);
  }

  function verify(channel: Channel): void {
    if (Date.now() - (channel.lostAt ?? channel.heardAt) < verifyMs) return;
    if (channel.lostAt === null && !channel.asked) return ask(publishing, channel);
    channel.unheard += 1;
    if (channel.unheard >= MAX_UNHEARD) return reconnect();
    subscribe(channel);
  }

  /** Every channel begins anew with the next `ready`. */
  function reconnect(): void {
    for (const channel of channels.values()) channel.unheard = 0;
    forgetAll();
    listening.disconnect(true);
  }

  function open(kind: ChannelKind, name: string, listener: ChannelListener): Promise<void> {
    const channel = channels.get(keyOf(kind, name)) ?? newChannel(kind, name, listener);
    if (channel.round === 0) {
      channels.set(keyOf(kind, name), channel);
      subscribe(channel);
    }
    verifying ??= setInterval(verifyAll, verifyMs).unref();
    return channel.wasHeard ? channel.opened.promise : inTime(channel.opened.promise);
  }

  function drop(kind: ChannelKind, name: string): void {
    if (!channels.delete(keyOf(kind, name))) return;
    const answer = kind === 'plain' ? listening.unsubscribe(name) : listening.sunsubscribe(name);
    answer.catch(() => {});
  }

  function close(): void {
    clearInterval(verifying);
    channels.clear();
    listening.off('message', heard.message).off('smessage', heard.smessage);
    listening.off('close', forgetAll).off('ready', renewAll).off('subscribersReady', renewAll);
  }

  return { open, drop, hearing: () => hearingOf(channels.values(), verifyMs), close };
}

/** Content of the message stays out of the report. */
function unreadableReport(onError: SubscriptionsOptions['onError']): (name: string) => void {
  let reportedAt = -Infinity;
  return (name) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_MS) return;
    reportedAt = now;
    onError?.(
      new Error(`a message on ${name} cannot be read and counts as lost; others are not logged for a minute`),
    );
  };
}
