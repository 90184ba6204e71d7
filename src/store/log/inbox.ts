// The channel of this process: the ends of the directives that it waits for, wherever they are executed. Never keeps a
// listener for a directive without a waiting caller.
import { type Listener, notifyGap, readAnnouncement } from './announcement.ts';
import type { Subscriptions } from './subscriptions.ts';

export function createInbox(subscriptions: Subscriptions, name: string) {
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
