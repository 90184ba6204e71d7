// One connection that hears the announcements of every request followed in this process.
// Must never be taken for the log: an announcement can be lost, and says so by a gap.
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
  /** Resolves when Redis has confirmed; the returned function ends the subscription. */
  listen(requestId: string, listener: Listener): Promise<() => void>;
  close(): void;
}

/** A channel nobody listens to is kept this long, since a follower often comes back. */
const LINGER_MS = 200;

interface Channel {
  listeners: Set<Listener>;
  confirmed: Promise<unknown>;
  idleSince: number;
}

function parse(message: string): Announcement {
  const space = message.indexOf(' ');
  return {
    sequence: Number(message.slice(0, space)),
    closed: message[space + 1] === 'c',
    json: message.slice(space + 3),
  };
}

/** Uses `connection` for subscriptions only; the caller owns and closes it. */
export function createSubscriber(connection: RedisConnection, keys: KeySpace): Subscriber {
  const channels = new Map<string, Channel>();
  let lingering: NodeJS.Timeout | undefined;

  connection.on('smessage', (name: string, message: string) => {
    const channel = channels.get(name);
    if (!channel) return;
    const announcement = parse(message);
    for (const listener of channel.listeners) listener(announcement);
  });
  // After a reconnect the subscriptions are back, but what was said meanwhile is not.
  connection.on('ready', () => {
    for (const channel of channels.values()) for (const listener of channel.listeners) listener(null);
  });

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
    await channel.confirmed;
    return () => leave(channel, listener);
  }

  return {
    listen,
    close() {
      clearTimeout(lingering);
      channels.clear();
    },
  };
}
