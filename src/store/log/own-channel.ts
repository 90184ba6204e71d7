// A channel that only this process subscribes to. Never the only way: a message without a subscriber is lost.
import { settledWithin } from '../../platform/lifecycle.ts';
import type { ChannelListener } from './channel.ts';
import { createSubscriptions, type SubscriptionsOptions } from './subscriptions.ts';

/** How long a stop waits until Redis sends nothing more. */
const LEAVE_MS = 1_000;

/** The listening connection is its owner's to close. */
export function createOwnChannel(
  options: SubscriptionsOptions & { onError: (error: Error) => void },
  channel: string,
  listener: ChannelListener,
) {
  const subscriptions = createSubscriptions(options);
  let isOpen = false;
  return {
    /** Whether what is published now would be heard. */
    isHeard: (): boolean => isOpen && subscriptions.hearing().ok,
    /** Without Redis it goes on trying, and others do without it meanwhile. */
    async start(): Promise<void> {
      await subscriptions.open('plain', channel, listener).catch(options.onError);
      isOpen = true;
    },
    async stop(): Promise<void> {
      isOpen = false;
      await settledWithin(
        options.listening.unsubscribe(channel).catch(() => {}),
        LEAVE_MS,
      );
      subscriptions.close();
    },
  };
}
