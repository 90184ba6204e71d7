// Subscribes to cancellations and aborts the attempts of this process. Never the only way: the next heartbeat finds a
// lost announcement.
import type { KeySpace } from '../store/keys.ts';
import type { Hearing } from '../store/log/channel.ts';
import { createSubscriptions, type SubscriptionsOptions } from '../store/log/subscriptions.ts';
import type { Startable } from '../platform/lifecycle.ts';
import type { RunningAttempts } from './attempt/running-attempts.ts';

export interface CancelListener extends Startable {
  hearing(): Hearing;
}

/** Uses its listening connection for its subscription only. */
export function createCancelListener(
  options: SubscriptionsOptions,
  keys: KeySpace,
  running: RunningAttempts,
): CancelListener {
  const subscriptions = createSubscriptions(options);
  const hear = (message: string): void => {
    const slash = message.indexOf('/');
    if (slash < 1) throw new Error('no cancellation');
    running.stop(message.slice(0, slash), message.slice(slash + 1), 'cancelled');
  };
  // What was missed is found by the next heartbeat of its attempt.
  const missed = (): void => {};
  return {
    name: 'cancel listener',
    start: () => subscriptions.open('plain', keys.cancellations, { hear, missed }),
    hearing: subscriptions.hearing,
    // The connection, and with it the subscription, is its owner's to end.
    stop: async () => subscriptions.close(),
  };
}
