// Writes that an attempt relies on: repeated until Redis has them as durably as configured, or the worker has given up.
// Must never be used for a write that is not safe to repeat.
import type { Confirm } from '../../queue/durability.ts';
import { persistently } from './persistently.ts';
import type { RunningAttempts } from '../attempt/running-attempts.ts';

export interface DurableWriting {
  running: RunningAttempts;
  /** Begun before each write; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
}

/**
 * A claim that a failover loses would be granted again, and the call made twice; an outcome that it loses is written
 * again where the directive goes on.
 */
export function durably<T>({ running, confirm }: DurableWriting, write: () => Promise<T>): Promise<T> {
  return persistently(async () => {
    const confirmed = await confirm();
    const written = await write();
    await confirmed?.();
    return written;
  }, running.givenUp);
}
