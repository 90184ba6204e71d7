// One connection that hears the announcements of every request followed in this process.
// Must never be taken for the log: an announcement can be lost, and says so by a gap.
import { randomUUID } from 'node:crypto';
import type { RedisConnection } from '../redis.ts';
import type { KeySpace } from './keys.ts';

/** One appended signal. `json` is empty when it was too large to announce. */
export interface Announcement {
  sequence: number;
  /** Nothing follows until the request is opened again. */
  closed: boolean;
  json: string;
}

/** Receives announcements; null means "some may have been lost, read the log". */
export type Listener = (announcement: Announcement | null) => void;

export interface Subscriber {
  /** Follows a request's log. Resolves when Redis has confirmed; the returned function ends the subscription. */
  listen(requestId: string, listener: Listener): Promise<() => void>;
  /**
   * This process' own channel: who accepts a directive may ask that its end be announced here, which saves a
   * subscription for each. Resolves to the channel's name when Redis has confirmed.
   */
  openInbox(): Promise<string>;
  /** Hears the end of one directive in the inbox. */
  listenInbox(requestId: string, directiveId: string, listener: Listener): () => void;
  close(): void;
}

/** How long a subscription may wait for Redis before its caller is told that it is away. */
const CONFIRM_MS = 5_000;

/** A channel nobody listens to is kept this long, since a follower often comes back. */
const LINGER_MS = 200;

interface Channel {
  listeners: Set<Listener>;
  confirmed: Promise<unknown>;
  idleSince: number;
}

/** Rejects when Redis does not confirm in time; the subscription itself goes on trying. */
async function confirmedInTime(confirmed: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('Command timed out')), CONFIRM_MS);
  await Promise.race([confirmed, late.promise]).finally(() => clearTimeout(timer));
}

/** `<sequence> <c|o> <json>`, from `start` on. */
function parse(message: string, start = 0): Announcement {
  const space = message.indexOf(' ', start);
  return {
    sequence: Number(message.slice(start, space)),
    closed: message[space + 1] === 'c',
    json: message.slice(space + 3),
  };
}

/** Uses `connection` for subscriptions only; the caller owns and closes it. */
export function createSubscriber(connection: RedisConnection, keys: KeySpace): Subscriber {
  const channels = new Map<string, Channel>();
  const inbox = `${keys.prefix}:inbox:${randomUUID()}`;
  const awaited = new Map<string, Set<Listener>>();
  let inboxConfirmed: Promise<unknown> | undefined;
  let lingering: NodeJS.Timeout | undefined;

  connection.on('smessage', (name: string, message: string) => {
    const channel = channels.get(name);
    if (!channel) return;
    const announcement = parse(message);
    for (const listener of channel.listeners) listener(announcement);
  });
  // After a reconnect the subscriptions are back, but what was said meanwhile is not.
  connection.on('ready', () => {
    for (const channel of channels.values()) tellOfGap(channel.listeners);
    tellOfLostEnds();
  });
  // A cluster stays ready while a node of it is replaced; its subscriptions are only on their way by then, so each is
  // confirmed once more.
  connection.on('subscribersReady', () => {
    for (const [name, { listeners }] of channels)
      connection.ssubscribe(name).then(
        () => tellOfGap(listeners),
        () => {},
      );
    tellOfLostEnds();
  });

  function tellOfGap(listeners: Iterable<Listener>): void {
    for (const listener of listeners) listener(null);
  }

  function tellOfLostEnds(): void {
    for (const listeners of awaited.values()) tellOfGap(listeners);
  }

  connection.on('message', (name: string, message: string) => {
    if (name !== inbox) return;
    const space = message.indexOf(' ');
    const listeners = awaited.get(message.slice(0, space));
    if (!listeners) return;
    const announcement = parse(message, space + 1);
    for (const listener of listeners) listener(announcement);
  });

  async function openInbox(): Promise<string> {
    inboxConfirmed ??= connection.subscribe(inbox).catch((error: unknown) => {
      inboxConfirmed = undefined;
      throw error;
    });
    await confirmedInTime(inboxConfirmed);
    return inbox;
  }

  function listenInbox(requestId: string, directiveId: string, listener: Listener): () => void {
    const key = `${requestId}/${directiveId}`;
    const listeners = awaited.get(key) ?? new Set<Listener>();
    awaited.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && awaited.get(key) === listeners) awaited.delete(key);
    };
  }

  function open(name: string): Channel {
    const channel: Channel = { listeners: new Set(), confirmed: connection.ssubscribe(name), idleSince: 0 };
    channel.confirmed.catch(() => channels.delete(name));
    channels.set(name, channel);
    return channel;
  }

  function dropIdle(): void {
    lingering = undefined;
    const until = Date.now() - LINGER_MS;
    for (const [name, channel] of channels) {
      if (channel.listeners.size > 0) continue;
      if (channel.idleSince > until) {
        lingering ??= setTimeout(dropIdle, LINGER_MS).unref();
        continue;
      }
      channels.delete(name);
      connection.sunsubscribe(name).catch(() => {});
    }
  }

  function leave(channel: Channel, listener: Listener): void {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0) return;
    channel.idleSince = Date.now();
    lingering ??= setTimeout(dropIdle, LINGER_MS).unref();
  }

  async function listen(requestId: string, listener: Listener): Promise<() => void> {
    const name = keys.log(requestId);
    const channel = channels.get(name) ?? open(name);
    channel.listeners.add(listener);
    try {
      await confirmedInTime(channel.confirmed);
    } catch (error) {
      leave(channel, listener);
      throw error;
    }
    return () => leave(channel, listener);
  }

  return {
    listen,
    openInbox,
    listenInbox,
    close() {
      clearTimeout(lingering);
      channels.clear();
      awaited.clear();
    },
  };
}
