// One connection that receives the announcements of every request followed in this process. Never taken for the log: a
// lost announcement shows as a gap.
import { type Listener, notifyGap, readAnnouncement } from './announcement.ts';
import type { Hearing } from './channel.ts';
import type { KeySpace } from '../keys.ts';
import { createSubscriptions, type Subscriptions, type SubscriptionsOptions } from './subscriptions.ts';
import { newShortId } from '../../platform/telemetry/identifier.ts';

export interface Subscriber {
  /** Follows a request's log. Resolves when Redis has confirmed; the returned function ends the subscription. */
  listen(requestId: string, listener: Listener): Promise<() => void>;
  /**
   * This process' own channel: who accepts a directive may ask that its end be announced here, which saves a
   * subscription for each. Resolves to the channel's name when Redis has confirmed.
   */
  openInbox(): Promise<string>;
  /** Whether announcements reach this process: what is not heard is read 5 s late. */
  hearing(): Hearing;
  /** Subscribes to the end of one directive in the inbox. */
  listenInbox(requestId: string, directiveId: string, listener: Listener): () => void;
  close(): void;
}

/** A channel without a listener is kept this long, since a follower often comes back. */
const LINGER_MS = 200;

interface Channel {
  listeners: Set<Listener>;
  opened: Promise<void>;
  idleSince: number;
}

/** Uses its listening connection for subscriptions only; the caller owns both connections and closes them. */
export function createSubscriber(options: SubscriptionsOptions, keys: KeySpace): Subscriber {
  const subscriptions = createSubscriptions(options);
  const channels = new Map<string, Channel>();
  const inboxName = `${keys.prefix}:inbox:${newShortId()}`;
  const inbox = createInbox(subscriptions, inboxName);
  let lingering: NodeJS.Timeout | undefined;

  /**
   * ioredis takes the end of the last sharded subscription for the end of the plain ones too, and is deaf to the inbox
   * from then on, so there is always one. On a cluster they have connections of their own.
   */
  function keepOneSharded(): void {
    if (options.listening.isCluster) return;
    subscriptions.open('sharded', inboxName, { hear: () => {}, missed: () => {} }).catch(() => {});
  }

  function open(requestId: string): Channel {
    const name = keys.log(requestId);
    keepOneSharded();
    const listeners = new Set<Listener>();
    const hear = (message: string): void => {
      const announcement = readAnnouncement(requestId, message);
      for (const listener of listeners) listener(announcement);
    };
    const opened = subscriptions.open('sharded', name, { hear, missed: () => notifyGap(listeners) });
    const channel: Channel = { listeners, opened, idleSince: 0 };
    channels.set(name, channel);
    opened.catch(() => forget(name, channel));
    return channel;
  }

  /** The next follower asks again. */
  function forget(name: string, channel: Channel): void {
    if (channels.get(name) !== channel) return;
    channels.delete(name);
    subscriptions.drop('sharded', name);
  }

  function dropIdle(): void {
    lingering = undefined;
    const until = Date.now() - LINGER_MS;
    for (const [name, channel] of channels) {
      if (channel.listeners.size > 0) continue;
      if (channel.idleSince <= until) forget(name, channel);
      else lingering ??= setTimeout(dropIdle, LINGER_MS).unref();
    }
  }

  function removeListener(channel: Channel, listener: Listener): void {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0) return;
    channel.idleSince = Date.now();
    lingering ??= setTimeout(dropIdle, LINGER_MS).unref();
  }

  async function listen(requestId: string, listener: Listener): Promise<() => void> {
    const name = keys.log(requestId);
    const channel = channels.get(name) ?? open(requestId);
    channel.listeners.add(listener);
    try {
      await channel.opened;
    } catch (error) {
      removeListener(channel, listener);
      throw error;
    }
    return () => removeListener(channel, listener);
  }

  return {
    listen,
    openInbox: inbox.open,
    hearing: subscriptions.hearing,
    listenInbox: inbox.listen,
    close() {
      clearTimeout(lingering);
      channels.clear();
      inbox.close();
      subscriptions.close();
    },
  };
}

function createInbox(subscriptions: Subscriptions, name: string) {
  const awaited = new Map<string, Set<Listener>>();
  /** Once Redis has confirmed: from then on the subscription is kept. */
  let opened: Promise<string> | undefined;

  /** `<request>/<directive> <announcement>`. */
  function hear(message: string): void {
    const space = message.indexOf(' ');
    const key = message.slice(0, space);
    const listeners = awaited.get(key);
    if (!listeners) return;
    const announcement = readAnnouncement(key.slice(0, key.indexOf('/')), message, space + 1);
    for (const listener of listeners) listener(announcement);
  }

  /** Only who waits for that directive reads its log: there may be many waits, and many messages of a later version. */
  function unreadable(message: string): void {
    notifyGap(awaited.get(message.slice(0, message.indexOf(' '))) ?? []);
  }

  function missed(): void {
    for (const listeners of awaited.values()) notifyGap(listeners);
  }

  async function openFirst(): Promise<string> {
    await subscriptions.open('plain', name, { hear, missed, unreadable });
    opened ??= Promise.resolve(name);
    return name;
  }

  return {
    /** Resolves to the channel's name when Redis has confirmed. */
    open: (): Promise<string> => opened ?? openFirst(),
    listen(requestId: string, directiveId: string, listener: Listener): () => void {
      const key = `${requestId}/${directiveId}`;
      const listeners = awaited.get(key) ?? new Set<Listener>();
      awaited.set(key, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && awaited.get(key) === listeners) awaited.delete(key);
      };
    },
    close: (): void => awaited.clear(),
  };
}
