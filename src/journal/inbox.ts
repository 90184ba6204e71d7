// This process' own channel: the ends of the directives that it waits for, wherever they are carried out.
// Must never keep a listener of a directive that nobody waits for.
import { type Listener, notifyGap, readAnnouncement } from './announcement.ts';
import type { Subscriptions } from './subscriptions.ts';

export function createInbox(subscriptions: Subscriptions, name: string) {
  const awaited = new Map<string, Set<Listener>>();

  /** `<request>/<directive> <announcement>`. */
  function hear(message: string): void {
    const space = message.indexOf(' ');
    const listeners = awaited.get(message.slice(0, space));
    if (!listeners) return;
    const announcement = readAnnouncement(message, space + 1);
    for (const listener of listeners) listener(announcement);
  }

  function missed(): void {
    for (const listeners of awaited.values()) notifyGap(listeners);
  }

  return {
    /** Resolves to the channel's name when Redis has confirmed. */
    async open(): Promise<string> {
      await subscriptions.open('plain', name, { hear, missed });
      return name;
    },
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
