// An appended signal as it is published on the channel of its request: the entry of the log, as docs/redis.md describes it.
// Must never be taken for the log: an announcement can be lost.
import { isObject } from '../../contract/json/json-object.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { wholeSignal } from './stored-signal.ts';

/** One appended signal. */
export interface Announcement {
  sequence: number;
  /** Nothing follows until the request is opened again. */
  closed: boolean;
  /** null: it was too large to publish, and is in the log. */
  signal: Signal | null;
  /** Length of its text. */
  characters: number;
}

/**
 * Receives announcements; null means "some may have been lost, read the log". Throws for one that it cannot read, and then
 * gets null.
 */
export type Listener = (announcement: Announcement | null) => void;

/** Reads `message` from `start` on. Throws for a text that is no announcement: any program on Redis can write to a channel. */
export function readAnnouncement(requestId: string, message: string, start = 0): Announcement {
  const published: unknown = JSON.parse(message.slice(start));
  if (!isObject(published)) throw new Error('no announcement');
  const { closed = false, ...entry } = published;
  const { sequence, type, data, ...others } = entry;
  const isNumbered = Number.isSafeInteger(sequence) && (sequence as number) > 0;
  const isSignal = typeof type === 'string' && isObject(data);
  const isNumberAlone = type === undefined && data === undefined && Object.keys(others).length === 0;
  if (!isNumbered || typeof closed !== 'boolean' || !(isSignal || isNumberAlone))
    throw new Error('no announcement');
  const signal = isSignal ? wholeSignal(requestId, entry) : null;
  return { sequence: sequence as number, closed, signal, characters: message.length - start };
}

/** Some may have been lost. */
export function notifyGap(listeners: Iterable<Listener>): void {
  for (const listener of listeners) listener(null);
}
